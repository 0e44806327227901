#ifndef SCOPEDNET_CBROTLI_SHIM_H
#define SCOPEDNET_CBROTLI_SHIM_H

#include <brotli/decode.h>

#endif
