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

    static func runWhenIdle(_ context: UnsafeMutableRawPointer) {
        // Safety: the caller has a reference; this one more is the source's, which releases it.
        let context = Unmanaged<Handler>.fromOpaque(context).retain().toOpaque()
        g_idle_add_full(
            G_PRIORITY_DEFAULT_IDLE,
            { context in
                Handler.run(context, 0)
                return 0  // G_SOURCE_REMOVE
            }, context, { if let context = $0 { Unmanaged<Handler>.fromOpaque(context).release() } })
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

/// Runs `body` when a person closes a window, before it ends.
@MainActor func connect(closingOf window: UnsafeMutableRawPointer, _ body: @escaping @MainActor () -> Void) {
    let context = Unmanaged.passRetained(Handler { _ in body() }).toOpaque()
    gallery_connect_question(
        window, "close-request",
        { _, context in
            Handler.run(context, 0)
            return 0  // It is closed.
        }, context, Handler.release)
}

/// Runs `body` once, after the next frame of a widget's window: everything has its place then.
@MainActor func afterLayout(of widget: UnsafeMutableRawPointer, _ body: @escaping @MainActor () -> Void) {
    let context = Unmanaged.passRetained(Handler { _ in body() }).toOpaque()
    gtk_widget_add_tick_callback(
        widget.widget,
        { _, _, context in
            // This comes before the layout of the frame, and an idle source after it.
            if let context { Handler.runWhenIdle(context) }
            return 0  // G_SOURCE_REMOVE
        }, context,
        { context in
            // Safety: the one release of the reference that the callback has.
            if let context { Unmanaged<Handler>.fromOpaque(context).release() }
        })
}

/// A rectangle in a window, in the pixels in which events of the mouse come.
struct Place {
    let x, y, width, height: Int

    func overlaps(_ other: Place) -> Bool {
        x < other.x + other.width && other.x < x + width && y < other.y + other.height && other.y < y + height
    }
}

/// The place of a widget in its window; nil where it is not shown.
func place(of widget: UnsafeMutableRawPointer, in window: UnsafeMutableRawPointer) -> Place? {
    var (bounds, left, top) = (graphene_rect_t(), 0.0, 0.0)
    guard gtk_widget_get_mapped(widget.widget) != 0 else { return nil }
    guard gtk_widget_compute_bounds(widget.widget, window.widget, &bounds) != 0 else { return nil }
    gtk_native_get_surface_transform(OpaquePointer(window), &left, &top)
    return Place(
        x: Int(bounds.origin.x) + Int(left), y: Int(bounds.origin.y) + Int(top), width: Int(bounds.size.width),
        height: Int(bounds.size.height))
}

/// The first widget below another one that has a class of the style sheet.
func descendant(of widget: UnsafeMutableRawPointer, style name: String) -> UnsafeMutableRawPointer? {
    var child = gtk_widget_get_first_child(widget.widget)
    while let next = child {
        let address = UnsafeMutableRawPointer(next)
        if gtk_widget_has_css_class(next, name) != 0 { return address }
        if let found = descendant(of: address, style: name) { return found }
        child = gtk_widget_get_next_sibling(next)
    }
    return nil
}

/// Gives a widget a class of the style sheet.
func style(_ widget: UnsafeMutableRawPointer?, _ name: String) { gtk_widget_add_css_class(widget?.widget, name) }

/// Loads the style sheet for all windows.
func loadStyle(_ text: String) {
    gallery_prefer_dark()
    let provider = gtk_css_provider_new()
    gtk_css_provider_load_from_data(provider, text, -1)
    gtk_style_context_add_provider_for_display(
        gdk_display_get_default(), OpaquePointer(provider), guint(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
}
