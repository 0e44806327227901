#if GTK
import CViewsGTK
public import ScopedNetViews

/// A `GtkProgressBar` that shows how far a body has come.
///
/// It pulses, ten times a second, where the length is not known; the main queue must run under GLib for that (`MainQueueBridge`). GTK draws
/// each change at once, animated or not.
public final class GTKProgressBar: GTKAdapter, ProgressDisplaying {
    private var progress = ProgressValue.fraction(0)
    private var isPaused = false
    private var pulsing: Task<Void, Never>?

    /// Adapts a bar.
    ///
    /// - Parameters:
    ///   - widget: a `GtkProgressBar`; nil, the default, for a new one.
    ///   - fileID: the file of the call, which names the bag of the widget, with `line`.
    ///   - line: the line of the call.
    public init(_ widget: UnsafeMutableRawPointer? = nil, fileID: StaticString = #fileID, line: Int = #line) {
        let widget = adapted(widget, else: gtk_progress_bar_new(), gtk_progress_bar_get_type())
        super.init(owner: widget, fileID, line)
        widget.own(self)
    }

    deinit { pulsing?.cancel() }

    /// True while the bar moves to and fro.
    public var isPulsing: Bool { pulsing != nil }

    /// Shows the share, or pulses.
    ///
    /// - Parameters:
    ///   - progress: the share that has come, or that it is not known.
    ///   - animated: ignored.
    public func display(_ progress: ProgressValue, animated: Bool) {
        self.progress = progress
        update()
    }

    /// Stops pulsing for as long as no byte moves on purpose. The share stays.
    ///
    /// - Parameter isPaused: true for a transfer that is suspended.
    public func setPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        update()
    }

    /// Stops pulsing. The last share stays; a bar without one is empty.
    public func endProgress() {
        isPaused = false
        display(.fraction(progress.fraction ?? 0), animated: false)
    }

    private func update() {
        if let fraction = progress.fraction { object.with { gtk_progress_bar_set_fraction(OpaquePointer($0), fraction) } }
        let pulses = progress == .indeterminate && !isPaused
        guard pulses != isPulsing else { return }
        pulsing?.cancel()
        pulsing = pulses ? Task { [weak self] in await Self.pulse { self } } : nil
    }

    private static func pulse(_ bar: () -> GTKProgressBar?) async {
        repeat {
            guard let object = bar()?.object, object.address != nil else { return }
            object.with { gtk_progress_bar_pulse(OpaquePointer($0)) }
            try? await Task.sleep(for: .milliseconds(100))
        } while !Task.isCancelled
    }
}
#endif
