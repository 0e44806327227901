import FoundationEssentials
import Glibc
import ScopedNet
public import ScopedNetImages

/// The terminal that views are drawn on, or the file that they write plain lines to.
///
/// Views of one output know of each other: one that has written last draws over what it wrote, another begins a new line.
@MainActor public final class TerminalOutput {
    /// True where escape sequences are understood. Views write plain lines otherwise, and nothing else.
    public let isTerminal: Bool
    /// The form of pictures.
    public let capability: TerminalPicture.Capability
    /// The columns and rows of the terminal.
    public let size: TerminalPicture.Cells
    private let writeBytes: @MainActor ([UInt8]) -> Void
    private weak var writer: AnyObject?
    private var isInLine = false

    /// Makes an output.
    ///
    /// - Parameters:
    ///   - isTerminal: true where escape sequences are understood.
    ///   - capability: the form of pictures. Default: characters.
    ///   - columns: the columns of the terminal. Default: 80.
    ///   - rows: the rows of the terminal. Default: 24.
    ///   - write: takes bytes, in order.
    public init(
        isTerminal: Bool, capability: TerminalPicture.Capability = .plain, columns: Int = 80, rows: Int = 24,
        write: @escaping @MainActor ([UInt8]) -> Void
    ) {
        (self.isTerminal, self.capability, writeBytes) = (isTerminal, capability, write)
        size = TerminalPicture.Cells(columns: max(1, columns), rows: max(1, rows))
    }

    /// Makes the output of the process: a terminal where standard output is one, with the form of pictures that its environment tells of.
    public static func standardOutput() -> TerminalOutput {
        var window = winsize()
        let hasSize = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &window) == 0 && window.ws_col > 0 && window.ws_row > 0
        let environment = ProcessInfo.processInfo.environment
        return TerminalOutput(
            isTerminal: isatty(STDOUT_FILENO) == 1 && environment["TERM"] != "dumb", capability: .detect(environment: environment),
            columns: hasSize ? Int(window.ws_col) : 80, rows: hasSize ? Int(window.ws_row) : 24
        ) { writeAll($0, to: STDOUT_FILENO) }
    }

    /// Writes text for a view.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - leavesLine: true where the cursor stays in a line that the view will draw over.
    ///   - view: the view.
    func write(_ text: String, leavesLine: Bool, by view: AnyObject) { write(Array(text.utf8), leavesLine: leavesLine, by: view) }

    func write(_ bytes: [UInt8], leavesLine: Bool, by view: AnyObject) {
        let interrupts = isInLine && writer !== view
        (writer, isInLine) = (view, leavesLine)
        writeBytes(interrupts ? [UInt8(ascii: "\n")] + bytes : bytes)
    }

    /// True where nothing was written since the view did.
    func isLastWriter(_ view: AnyObject) -> Bool { writer === view }

    /// True where the cursor is in no line of another view.
    func isFree(for view: AnyObject) -> Bool { !isInLine || isLastWriter(view) }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno == EAGAIN {
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&waiting, 1, -1)
                } else if errno != EINTR {
                    return
                }
            }
        }
    }
}
