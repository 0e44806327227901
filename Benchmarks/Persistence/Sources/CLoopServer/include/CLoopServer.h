// A server for one thing: the same small cacheable response to every request, from a process of its own.
#ifndef C_LOOP_SERVER_H
#define C_LOOP_SERVER_H

#include <stddef.h>

/// Starts it on a free port of 127.0.0.1. Call it before there are threads. It ends with this process.
///
/// `body`: bytes of each response. The port, or a negative number.
int loop_server_start(size_t body);

#endif
