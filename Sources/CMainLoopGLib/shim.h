#ifndef SCOPEDNET_CMAINLOOPGLIB_SHIM_H
#define SCOPEDNET_CMAINLOOPGLIB_SHIM_H

#include <glib.h>
// Not part of glib.h.
#include <glib-unix.h>

// `g_source_set_callback` takes a function of another type than the one that a source of a descriptor calls: the cast is a macro.
static inline void scopednet_set_descriptor_callback(GSource *_Nonnull source, GUnixFDSourceFunc _Nonnull callback) {
    g_source_set_callback(source, G_SOURCE_FUNC(callback), NULL, NULL);
}

#endif
