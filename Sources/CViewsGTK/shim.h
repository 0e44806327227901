// Casts, variadic functions and macros of GTK 4, which Swift cannot see.
#ifndef SCOPEDNET_CVIEWSGTK_SHIM_H
#define SCOPEDNET_CVIEWSGTK_SHIM_H

#include <gtk/gtk.h>

typedef void (*scopednet_signal_callback)(gpointer _Nullable instance, gpointer _Nullable context);
typedef void (*scopednet_value_signal_callback)(gpointer _Nullable instance, int value, gpointer _Nullable context);

/// Connects a signal without parameters. `release` is called once with `context`, when the handler is gone.
static inline gulong scopednet_connect(
    gpointer _Nonnull instance, const char *_Nonnull signal, scopednet_signal_callback _Nonnull callback, gpointer _Nonnull context,
    GClosureNotify _Nonnull release) {
    return g_signal_connect_data(instance, signal, G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

/// As `scopednet_connect`, for a signal whose one parameter is an integer, flags or an enumeration.
static inline gulong scopednet_connect_value(
    gpointer _Nonnull instance, const char *_Nonnull signal, scopednet_value_signal_callback _Nonnull callback, gpointer _Nonnull context,
    GClosureNotify _Nonnull release) {
    return g_signal_connect_data(instance, signal, G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

static inline gboolean scopednet_is_a(gpointer _Nonnull instance, GType type) {
    return g_type_check_instance_is_a((GTypeInstance *)instance, type);
}

// GtkAlertDialog takes the place of this in GTK 4.10, which Debian 12 does not have.
G_GNUC_BEGIN_IGNORE_DEPRECATIONS
static inline GtkWindow *_Nonnull scopednet_message_dialog(GtkWindow *_Nullable parent, const char *_Nonnull text, const char *_Nullable more) {
    GtkWidget *dialog = gtk_message_dialog_new(parent, GTK_DIALOG_MODAL | GTK_DIALOG_DESTROY_WITH_PARENT, GTK_MESSAGE_ERROR, GTK_BUTTONS_CLOSE, "%s", text);
    if (more) gtk_message_dialog_format_secondary_text(GTK_MESSAGE_DIALOG(dialog), "%s", more);
    return GTK_WINDOW(dialog);
}
G_GNUC_END_IGNORE_DEPRECATIONS

#endif
