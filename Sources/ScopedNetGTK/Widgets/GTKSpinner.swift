#if GTK
import CViewsGTK
public import ScopedNetViews

/// A `GtkSpinner` that turns while something is going on. GTK draws nothing of one that stands.
public final class GTKSpinner: GTKAdapter, BusyDisplaying {
    /// Adapts a spinner.
    ///
    /// - Parameter widget: a `GtkSpinner`; nil, the default, for a new one.
    public init(_ widget: UnsafeMutableRawPointer? = nil) {
        let widget = adapted(widget, else: gtk_spinner_new(), gtk_spinner_get_type())
        super.init(owner: widget)
        widget.own(self)
    }

    /// Starts or stops it.
    ///
    /// - Parameter isBusy: true to turn.
    public func setBusy(_ isBusy: Bool) { object.with { gtk_spinner_set_spinning(OpaquePointer($0), isBusy ? 1 : 0) } }
}
#endif
