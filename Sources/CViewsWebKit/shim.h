// Casts of WebKitGTK, which Swift cannot see.
#ifndef SCOPEDNET_CVIEWSWEBKIT_SHIM_H
#define SCOPEDNET_CVIEWSWEBKIT_SHIM_H

#include <webkit/webkit.h>

typedef gboolean (*scopednet_load_failed_callback)(
    gpointer _Nullable view, WebKitLoadEvent event, const char *_Nullable uri, const GError *_Nullable error, gpointer _Nullable context);

/// Connects `load-failed`. `release` is called once with `context`, when the handler is gone.
static inline gulong scopednet_connect_load_failed(
    gpointer _Nonnull view, scopednet_load_failed_callback _Nonnull callback, gpointer _Nonnull context, GClosureNotify _Nonnull release) {
    return g_signal_connect_data(view, "load-failed", G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

static inline gboolean scopednet_is_web_view(gpointer _Nonnull instance) { return WEBKIT_IS_WEB_VIEW(instance); }

#endif
