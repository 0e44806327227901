#if GTK
import CViewsGTK
public import ScopedNetViews

/// Pull to refresh: a `GtkScrolledWindow` that is pulled beyond its top, and a header with a spinner that is revealed while the refresh goes on.
///
/// ```swift
/// let refresh = GTKRefresh(scrolledWindow) { list.reload() }
/// gtk_box_prepend(column, refresh.header?.assumingMemoryBound(to: GtkWidget.self))
/// ```
///
/// A `BusySlot` with the run of the refresh reveals the header, and hides it at the end.
public final class GTKRefresh: GTKAdapter, BusyDisplaying {
    private let revealer: WeakObject
    private let spinner: WeakObject

    /// True while a refresh goes on: further pulls are ignored.
    public private(set) var isBusy = false

    /// The header, a `GtkRevealer` to be put above the scrolled window, which keeps it. Borrowed; nil after the end of the scrolled window.
    public var header: UnsafeMutableRawPointer? { revealer.address }

    /// Adapts a scrolled window.
    ///
    /// - Parameters:
    ///   - scrolledWindow: a `GtkScrolledWindow`.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    ///   - onRefresh: called when it is pulled beyond its top; not while it is busy. Kept until the end of the scrolled window.
    public init(
        _ scrolledWindow: UnsafeMutableRawPointer, fileID: StaticString = #fileID, line: Int = #line,
        onRefresh: @escaping @MainActor () -> Void
    ) {
        precondition(scrolledWindow.isA(gtk_scrolled_window_get_type()), "GTKRefresh takes a GtkScrolledWindow")
        let (header, circle) = (UnsafeMutableRawPointer(gtk_revealer_new()!), gtk_spinner_new()!)
        gtk_widget_set_size_request(circle, 32, 32)
        gtk_widget_set_halign(circle, GTK_ALIGN_CENTER)
        gtk_revealer_set_child(OpaquePointer(header), circle)
        g_object_set_data_full(
            scrolledWindow.assumingMemoryBound(to: GObject.self), "scopednet-refresh-header", g_object_ref_sink(header), g_object_unref)
        (revealer, spinner) = (WeakObject(header), WeakObject(UnsafeMutableRawPointer(circle)))
        super.init(owner: scrolledWindow, fileID, line)
        scrolledWindow.own(self)
        connect(scrolledWindow, "edge-overshot") { [weak self] edge in
            if UInt32(edge) == GTK_POS_TOP.rawValue, self?.isBusy == false { onRefresh() }
        }
    }

    /// Reveals the header with its spinner, or hides it.
    ///
    /// - Parameter isBusy: true while the refresh goes on.
    public func setBusy(_ isBusy: Bool) {
        self.isBusy = isBusy
        revealer.with { gtk_revealer_set_reveal_child(OpaquePointer($0), isBusy ? 1 : 0) }
        spinner.with { gtk_spinner_set_spinning(OpaquePointer($0), isBusy ? 1 : 0) }
    }
}
#endif
