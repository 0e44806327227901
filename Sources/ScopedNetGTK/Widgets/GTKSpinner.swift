#if GTK
import CViewsGTK
public import ScopedNetViews

/// A `GtkSpinner` that turns while something is going on. GTK draws nothing of one that stands.
public final class GTKSpinner: GTKAdapter, BusyDisplaying {
    /// Adapts a spinner.
    ///
    /// - Parameters:
    ///   - widget: a `GtkSpinner`; nil, the default, for a new one.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    public init(_ widget: UnsafeMutableRawPointer? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        let widget = adapted(widget, else: gtk_spinner_new(), gtk_spinner_get_type())
        super.init(owner: widget, fileID, line)
        widget.own(self)
    }

    /// Starts or stops it.
    ///
    /// - Parameter isBusy: true to turn.
    public func setBusy(_ isBusy: Bool) { object.with { gtk_spinner_set_spinning(OpaquePointer($0), isBusy ? 1 : 0) } }
}
#endif
