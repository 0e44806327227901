#ifndef SCOPEDNET_CZLIB_SHIM_H
#define SCOPEDNET_CZLIB_SHIM_H

#include <zlib.h>

// `inflateInit2` and `deflateInit2` are macros (they pass the header's version and the size of z_stream), so Swift cannot see them.
static inline int scopednet_inflate_init(z_stream *stream, int window_bits) {
    return inflateInit2(stream, window_bits);
}

// 15: the largest window; +16: the gzip wrapper; 8: memory as by default.
static inline int scopednet_deflate_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
}

#endif
