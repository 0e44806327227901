import CViewsGTK
import ScopedNetImages

typealias Widget = UnsafeMutablePointer<GtkWidget>

/// A window of a test, without the decorations that a window manager would draw.
@MainActor
struct TestWindow {
    let window: UnsafeMutablePointer<GtkWindow>
    var address: UnsafeMutableRawPointer { UnsafeMutableRawPointer(window) }

    init(_ child: UnsafeMutableRawPointer?, width: Int32 = 320, height: Int32 = 240) {
        window = UnsafeMutableRawPointer(gtk_window_new()!).assumingMemoryBound(to: GtkWindow.self)
        gtk_window_set_decorated(window, 0)
        gtk_window_set_default_size(window, width, height)
        gtk_window_set_child(window, child?.assumingMemoryBound(to: GtkWidget.self))
        gtk_window_present(window)
    }

    func close() { gtk_window_destroy(window) }

    /// Waits until the window has been drawn some times since.
    func drawn(times: Int = 3) async {
        for _ in 0..<times {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let context = Unmanaged.passRetained(Resumption(continuation)).toOpaque()
                gtk_widget_add_tick_callback(
                    address.assumingMemoryBound(to: GtkWidget.self),
                    { _, _, context in
                        // Safety: GTK calls this before the release below, once.
                        if let context { Unmanaged<Resumption>.fromOpaque(context).takeUnretainedValue().continuation.resume() }
                        return 0
                    }, context, { if let context = $0 { Unmanaged<Resumption>.fromOpaque(context).release() } })
                gtk_widget_queue_draw(address.assumingMemoryBound(to: GtkWidget.self))
            }
        }
    }

    /// The colour in the middle of a widget as it is drawn: red, green, blue and alpha.
    func color(inTheMiddleOf widget: UnsafeMutableRawPointer) -> [UInt8] {
        let widget = widget.assumingMemoryBound(to: GtkWidget.self)
        let (width, height) = (Int(gtk_widget_get_width(widget)), Int(gtk_widget_get_height(widget)))
        guard width > 0, height > 0 else { return [] }
        let paintable = gtk_widget_paintable_new(widget)
        let snapshot = gtk_snapshot_new()
        gdk_paintable_snapshot(paintable, snapshot, Double(width), Double(height))
        g_object_unref(UnsafeMutableRawPointer(paintable))
        guard let node = gtk_snapshot_free_to_node(snapshot) else { return [] }
        defer { gsk_render_node_unref(node) }
        var area = graphene_rect_t(origin: .init(x: 0, y: 0), size: .init(width: Float(width), height: Float(height)))
        let texture = gsk_renderer_render_texture(gtk_native_get_renderer(OpaquePointer(window)), node, &area)
        defer { g_object_unref(UnsafeMutableRawPointer(texture)) }
        let pixels = downloaded(texture)
        let start = (height / 2 * width + width / 2) * 4
        return Array(pixels[start..<start + 4])
    }

    private final class Resumption: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
    }
}

/// The pixels of a texture: red, green, blue and alpha, multiplied by alpha.
func downloaded(_ texture: OpaquePointer?) -> [UInt8] {
    let (width, height) = (Int(gdk_texture_get_width(texture)), Int(gdk_texture_get_height(texture)))
    var pixels = [UInt8](repeating: 0, count: width * height * 4)
    gdk_texture_download(texture, &pixels, gsize(width * 4))
    // Cairo's order, on a little-endian machine: blue, green, red, alpha.
    for start in stride(from: 0, to: pixels.count, by: 4) { pixels.swapAt(start, start + 2) }
    return pixels
}

/// A picture of one colour.
func picture(_ color: [UInt8], width: Int = 64, height: Int = 48, isPremultiplied: Bool = false) throws -> DecodedImage {
    try DecodedImage(width: width, height: height, isPremultiplied: isPremultiplied) { pixels in
        for index in pixels.indices { pixels[index] = color[index % 4] }
    }
}
