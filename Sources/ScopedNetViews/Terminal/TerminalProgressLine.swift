import ScopedNet

/// A progress bar in one line of a terminal: `photo.jpg [#########           ]  45 %`.
///
/// An output that is no terminal gets one line, at the end.
@MainActor public final class TerminalProgressLine: ProgressDisplaying {
    private let output: TerminalOutput
    private let label: String
    private let width: Int
    private var progress: ProgressValue?
    private var isPaused = false

    /// Makes a line.
    ///
    /// - Parameters:
    ///   - label: the text before the bar; control characters in it are written as text.
    ///   - output: the terminal.
    ///   - width: the characters of the bar, at least 1. Default: 20.
    public init(_ label: String, _ output: TerminalOutput, width: Int = 20) {
        (self.label, self.output, self.width) = (label.printable, output, max(1, width))
    }

    /// Draws the line with a share, or with an ellipsis where that is not known.
    public func display(_ progress: ProgressValue, animated: Bool) {
        self.progress = progress
        draw()
    }

    /// Marks the line as paused, or takes the mark away.
    public func setPaused(_ isPaused: Bool) {
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        if progress != nil { draw() }
    }

    /// Leaves the line as it is, and begins a new one.
    public func endProgress() {
        guard progress != nil else { return }
        let isDrawn = output.isTerminal && output.isLastWriter(self)
        output.write(isDrawn ? "\n" : "\(text)\n", leavesLine: false, by: self)
        (progress, isPaused) = (nil, false)
    }

    private func draw() {
        guard output.isTerminal else { return }
        output.write("\r\(text)\u{1B}[K", leavesLine: true, by: self)
    }

    private var text: String {
        let mark = isPaused ? " (paused)" : ""
        guard let fraction = progress?.fraction else { return "\(label) …\(mark)" }
        let percent = "\(Int((fraction * 100).rounded(.down)))"
        let share = String(repeating: " ", count: max(0, 3 - percent.count)) + percent + " %"
        guard output.isTerminal else { return "\(label) \(share)\(mark)" }
        let filled = min(width, Int((fraction * Double(width)).rounded(.down)))
        let bar = String(repeating: "#", count: filled) + String(repeating: " ", count: width - filled)
        return "\(label) [\(bar)] \(share)\(mark)"
    }
}
