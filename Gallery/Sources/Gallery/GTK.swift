import CGalleryGTK

typealias Widget = UnsafeMutablePointer<GtkWidget>

extension UnsafeMutableRawPointer {
    var widget: Widget { assumingMemoryBound(to: GtkWidget.self) }
    var box: UnsafeMutablePointer<GtkBox> { assumingMemoryBound(to: GtkBox.self) }
    var window: UnsafeMutablePointer<GtkWindow> { assumingMemoryBound(to: GtkWindow.self) }
}

/// A new widget as an address. GTK makes each of its widgets.
func made(_ widget: Widget?) -> UnsafeMutableRawPointer {
    guard let widget else { preconditionFailure("GTK makes each of its widgets") }
    return UnsafeMutableRawPointer(widget)
}

private final class Handler: Sendable {
    private let body: @MainActor (UInt) -> Void

    init(_ body: @escaping @MainActor (UInt) -> Void) { self.body = body }

    static func run(_ context: UnsafeMutableRawPointer?, _ argument: UInt) {
        guard let context else { return }
        // Safety: GObject calls this before the release below alone, on the main thread.
        let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
        MainActor.assumeIsolated { handler.body(argument) }
    }

    static let release: GClosureNotify = { context, _ in
        // Safety: the one release of the reference that the connection has.
        if let context { Unmanaged<Handler>.fromOpaque(context).release() }
    }
}

/// Runs `body` with the parameter of each signal, until the object ends.
@MainActor func connect(_ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor (UInt) -> Void) {
    let context = Unmanaged.passRetained(Handler(body)).toOpaque()
    gallery_connect(object, signal, { Handler.run($2, UInt(bitPattern: $1)) }, context, Handler.release)
}

/// Runs `body` with each signal that has no parameter, until the object ends.
@MainActor func connect(plain signal: String, of object: UnsafeMutableRawPointer, _ body: @escaping @MainActor () -> Void) {
    let context = Unmanaged.passRetained(Handler { _ in body() }).toOpaque()
    gallery_connect_plain(object, signal, { Handler.run($1, 0) }, context, Handler.release)
}

/// Gives a widget a class of the style sheet.
func style(_ widget: UnsafeMutableRawPointer?, _ name: String) { gtk_widget_add_css_class(widget?.widget, name) }

/// Loads the style sheet for all windows.
func loadStyle(_ text: String) {
    let provider = gtk_css_provider_new()
    gtk_css_provider_load_from_data(provider, text, -1)
    gtk_style_context_add_provider_for_display(
        gdk_display_get_default(), OpaquePointer(provider), guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
}
