package import ScopedNet
import ScopedNetImages

/// A spinner in one line of a terminal, which is erased when it stops.
///
/// An output that is no terminal gets one line with the label each time it starts.
@MainActor public final class TerminalSpinner: BusyDisplaying {
    /// The characters that are shown one after the other.
    private static let frames = Array("|/-\\")

    private let output: TerminalOutput
    private let label: String
    private let interval: Duration
    private let timing: any Timing
    private var frame = 0
    private var timer: (any Cancellable)?
    private var isBusy = false

    /// Makes a spinner that stands still.
    ///
    /// - Parameters:
    ///   - label: the text beside it; control characters in it are written as text.
    ///   - output: the terminal.
    ///   - interval: the time between two characters, at least 20 ms. Default: 0.1 s.
    public convenience init(_ label: String, on output: TerminalOutput, interval: Duration = .milliseconds(100)) {
        self.init(label, on: output, interval: interval, timing: SystemTiming())
    }

    package init(_ label: String, on output: TerminalOutput, interval: Duration = .milliseconds(100), timing: any Timing) {
        (self.label, self.output, self.timing) = (label.printable, output, timing)
        self.interval = max(.milliseconds(20), interval)
    }

    deinit { timer?.cancel() }

    /// Starts or stops the spinner.
    public func setBusy(_ isBusy: Bool) {
        guard isBusy != self.isBusy else { return }
        self.isBusy = isBusy
        guard output.isTerminal else {
            if isBusy { output.write("\(label) …\n", leavesLine: false, by: self) }
            return
        }
        if isBusy { return turn() }
        timer?.cancel()
        timer = nil
        if output.isLastWriter(self) { output.write("\r\u{1B}[K", leavesLine: false, by: self) }
    }

    private func turn() {
        guard isBusy else { return }
        // The line of another view is left alone.
        if output.isFree(for: self) {
            output.write("\r\(Self.frames[frame]) \(label.prefix(max(0, output.size.columns - 3)))\u{1B}[K", leavesLine: true, by: self)
            frame = (frame + 1) % Self.frames.count
        }
        timer = timing.schedule(after: interval) { [weak self] in
            DeliveryLane.main.enqueue(.work { MainActor.assumeIsolated { self?.turn() } })
        }
    }
}
