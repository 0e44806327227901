#define _GNU_SOURCE
#include "CMainQueue.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *unused) __attribute__((weak));

int main_queue_descriptor(void) {
    if (!_dispatch_get_main_queue_handle_4CF || !_dispatch_main_queue_callback_4CF) return -1;
    return _dispatch_get_main_queue_handle_4CF();
}

void main_queue_drain(int descriptor) {
    uint64_t count;
    // Before the work: a block that comes during it makes the descriptor readable anew. Another reader may have been there first (EAGAIN).
    while (read(descriptor, &count, sizeof count) < 0 && errno == EINTR) {}
    _dispatch_main_queue_callback_4CF(NULL);
}

bool main_queue_is_current_thread(void) { return syscall(SYS_gettid) == getpid(); }
