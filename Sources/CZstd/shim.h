#ifndef SCOPEDNET_CZSTD_SHIM_H
#define SCOPEDNET_CZSTD_SHIM_H

#include <zstd.h>

#endif
