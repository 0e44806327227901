// Signals of GTK 4, whose macros Swift cannot see.
#ifndef CGALLERYGTK_SHIM_H
#define CGALLERYGTK_SHIM_H

#include <gtk/gtk.h>

typedef void (*gallery_signal)(gpointer _Nullable instance, gpointer _Nullable argument, gpointer _Nullable context);

/// Connects a signal with one parameter, a pointer or a number that is no larger.
static inline void gallery_connect(
    gpointer _Nonnull instance, const char *_Nonnull signal, gallery_signal _Nonnull callback, gpointer _Nonnull context,
    GClosureNotify _Nonnull release) {
    g_signal_connect_data(instance, signal, G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

typedef void (*gallery_plain_signal)(gpointer _Nullable instance, gpointer _Nullable context);

/// Connects a signal without parameters.
static inline void gallery_connect_plain(
    gpointer _Nonnull instance, const char *_Nonnull signal, gallery_plain_signal _Nonnull callback, gpointer _Nonnull context,
    GClosureNotify _Nonnull release) {
    g_signal_connect_data(instance, signal, G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

typedef gboolean (*gallery_question)(gpointer _Nullable instance, gpointer _Nullable context);

/// Connects a signal without parameters that asks whether it is to be refused.
static inline void gallery_connect_question(
    gpointer _Nonnull instance, const char *_Nonnull signal, gallery_question _Nonnull callback, gpointer _Nonnull context,
    GClosureNotify _Nonnull release) {
    g_signal_connect_data(instance, signal, G_CALLBACK(callback), context, release, (GConnectFlags)0);
}

/// Has the dark one of the two looks of the theme.
static inline void gallery_prefer_dark(void) { g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", TRUE, NULL); }

#endif
