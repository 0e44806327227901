import ScopedNet
import ScopedNetImages

/// A progress bar in one line of a terminal: `photo.jpg [#########           ]  45 %`.
///
/// Once another view has begun a line of its own the bar stands still, and is drawn once more at its end. A label that does not fit the terminal is cut. An
/// output that is no terminal gets one line, at the end.
@MainActor public final class TerminalProgressLine: ProgressDisplaying {
    private let output: TerminalOutput
    private let label: String
    private let width: Int
    private var progress: ProgressValue?
    private var isPaused = false
    private var isDrawn = false

    /// Makes a line.
    ///
    /// - Parameters:
    ///   - label: the text before the bar; control characters in it are written as text.
    ///   - output: the terminal.
    ///   - width: the characters of the bar, at least 1. Default: 20.
    public init(_ label: String, on output: TerminalOutput, width: Int = 20) {
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
        let isThere = output.isTerminal && output.isLastWriter(self)
        output.write(isThere ? "\n" : "\(output.isTerminal ? fitting : text(label))\n", leavesLine: false, by: self)
        (progress, isPaused, isDrawn) = (nil, false, false)
    }

    private func draw() {
        guard output.isTerminal, !isDrawn || output.isFree(for: self) else { return }
        isDrawn = true
        output.write("\r\(fitting)\u{1B}[K", leavesLine: true, by: self)
    }

    /// A line that is longer than the terminal could not be drawn over.
    private var fitting: String {
        let excess = text(label).count - output.size.columns + 1
        return text(excess > 0 ? String(label.dropLast(excess)) : label)
    }

    private func text(_ label: String) -> String {
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
