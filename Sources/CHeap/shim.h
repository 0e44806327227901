#pragma once
#include <malloc.h>
#include <stddef.h>

// The Glibc module leaves <malloc.h> out.
static inline size_t scopednet_heap_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
