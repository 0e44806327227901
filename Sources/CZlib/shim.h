#ifndef SCOPEDNET_CZLIB_SHIM_H
#define SCOPEDNET_CZLIB_SHIM_H

#include <zlib.h>

// `inflateInit2` is a macro (it passes the header's version and the size of z_stream), so Swift cannot see it.
static inline int scopednet_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

#endif
