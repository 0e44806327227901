#if GTK
import CViewsGTK
import ScopedNet
public import ScopedNetViews

/// The dialog that tells a person of an error, over one window.
///
/// It shows one error at a time. Errors that come meanwhile wait for it to be closed; one whose text is shown already, or waits, is left out. The end
/// of the window closes it.
public final class GTKErrorDialog: GTKAdapter, ErrorPresenting {
    private var waiting: [ErrorText] = []
    private var shown: (error: ErrorText, dialog: WeakObject)?

    /// The error that is shown; nil where there is none.
    public var presented: ErrorText? { shown?.error }

    /// Adapts a window.
    ///
    /// - Parameters:
    ///   - window: a `GtkWindow`, the parent of the dialogs.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    public init(over window: UnsafeMutableRawPointer, fileID: StaticString = #fileID, line: Int = #line) {
        precondition(window.isA(gtk_window_get_type()), "GTKErrorDialog takes a GtkWindow")
        super.init(owner: window, fileID, line)
        window.own(self)
    }

    /// Shows an error: its text, and below it the advice. A window that has ended shows none.
    ///
    /// - Parameter error: the error in words.
    public func present(_ error: ErrorText) {
        guard !bag.isEnded, error.text != shown?.error.text, !waiting.contains(where: { $0.text == error.text }) else { return }
        if shown == nil { show(error) } else { waiting.append(error) }
    }

    /// Closes the dialog, as the person would. The next error that waits is shown.
    public func dismiss() { shown?.dialog.with { gtk_window_destroy($0.assumingMemoryBound(to: GtkWindow.self)) } }

    private func show(_ error: ErrorText) {
        object.with { window in
            let parent = window.assumingMemoryBound(to: GtkWindow.self)
            let dialog = UnsafeMutableRawPointer(scopednet_message_dialog(parent, error.text, error.recovery))
            shown = (error, WeakObject(dialog))
            let closing = WeakObject(dialog)
            connect(dialog, "response") { (_: Int32) in closing.with { gtk_window_destroy($0.assumingMemoryBound(to: GtkWindow.self)) } }
            connect(dialog, "destroy") { [weak self] in self?.closed() }
            gtk_window_present(dialog.assumingMemoryBound(to: GtkWindow.self))
        }
    }

    private func closed() {
        shown = nil
        // The window that ends takes its dialog along.
        if bag.isEnded { waiting = [] }
        if !waiting.isEmpty { show(waiting.removeFirst()) }
    }
}
#endif
