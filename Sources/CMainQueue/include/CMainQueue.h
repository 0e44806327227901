// The part of libdispatch that other main loops need: the pair of functions that CFRunLoop uses, too. Both are exported, and in no public header
// (libdispatch, private/private.h); they are weak here, so that a libdispatch without them is an error at run time and not of the linker.
#ifndef CMAINQUEUE_H
#define CMAINQUEUE_H

#include <stdbool.h>

/// The eventfd(2) that becomes readable when the main queue has work; -1 where libdispatch offers none. It stays libdispatch's own.
int main_queue_descriptor(void);

/// Reads the descriptor empty, and then runs what the main queue has. On the main thread alone: libdispatch ends the process elsewhere.
/// A call from a block of the main queue runs nothing.
void main_queue_drain(int descriptor);

/// True on the first thread of the process, which is the one whose queue the main queue is.
bool main_queue_is_current_thread(void);

#endif
