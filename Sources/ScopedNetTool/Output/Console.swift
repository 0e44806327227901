import Dispatch
import Glibc
import ScopedNet
import SystemSupport

/// Standard output and standard error of one command: what is printed, and a line that redraws itself on a terminal and makes way for both.
final class Console: Sendable {
    private struct State {
        var line = ""
        /// Something was printed on the same terminal that did not end its line: no redrawing until it has.
        var isInsideText = false
    }

    /// Guards the state, and the order of what reaches the terminal: writing is the one thing done under it.
    private let state = Lock(State())
    private let output: Int32
    private let errors: Int32
    /// Both streams end on terminals, so they share the line.
    private let isShared: Bool
    /// Somebody reads standard output on a terminal.
    let isOutputTerminal: Bool
    /// Whether a line that redraws itself makes sense.
    let isLive: Bool

    init(output: Int32 = STDOUT_FILENO, errors: Int32 = STDERR_FILENO, isQuiet: Bool = false) {
        self.output = output
        self.errors = errors
        let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
        isLive = isatty(errors) == 1 && terminal != "dumb" && !isQuiet
        isOutputTerminal = isatty(output) == 1
        isShared = isLive && isOutputTerminal
    }

    /// Columns of the terminal right now.
    var width: Int {
        var window = winsize()
        return ioctl(errors, UInt(TIOCGWINSZ), &window) == 0 && window.ws_col > 0 ? Int(window.ws_col) : 80
    }

    // MARK: Writing

    /// - Throws: a ``ToolFailure``: `brokenPipe` without a message when the reader has gone, else why nothing can be written.
    func print(_ bytes: some Sequence<UInt8>) throws(ToolFailure) {
        let bytes = Array(bytes)
        guard let last = bytes.last else { return }
        let code = state.withLock { state -> Int32 in
            if isShared { erase(state) }
            let code = Self.write(bytes, to: output)
            state.isInsideText = isShared && last != UInt8(ascii: "\n")
            if isShared { draw(state) }
            return code
        }
        switch code {
        case 0: return
        case EPIPE: throw .brokenPipe
        case ECANCELED: throw .interrupted
        default: throw ToolFailure(.cannotWrite, "standard output cannot be written: \(String(cString: strerror(code)))")
        }
    }

    func print(line: String) throws(ToolFailure) { try print((line + "\n").utf8) }

    /// Calls the closure, once and on a thread of its own, when the reader of standard output has gone: somebody who prints seldom would not
    /// notice. Never for files and terminals.
    func whenReaderLeaves(_ body: @escaping @Sendable () -> Void) {
        let output = output
        DispatchQueue(label: "scopednet.reader").async {
            // Without events asked for, poll(2) waits for POLLERR and POLLHUP alone.
            var end = pollfd(fd: output, events: 0, revents: 0)
            while poll(&end, 1, -1) < 0, errno == EINTR {}
            if Int32(end.revents) & (POLLERR | POLLHUP) != 0 { body() }
        }
    }

    /// One line on standard error. Where that is closed there is nobody to tell.
    func report(_ text: String) {
        state.withLock { state in
            erase(state)
            let start = state.isInsideText ? "\n" : ""
            state.isInsideText = false
            _ = Self.write(Array("\(start)\(text)\n".utf8), to: errors)
            draw(state)
        }
    }

    /// Shows a line on the terminal in place of the last one; empty takes it away.
    func show(_ line: String) {
        guard isLive else { return }
        state.withLock { state in
            erase(state)
            state.line = line
            draw(state)
        }
    }

    private func erase(_ state: State) {
        if isLive, !state.line.isEmpty, !state.isInsideText { _ = Self.write(Array("\r\u{1B}[K".utf8), to: errors) }
    }

    private func draw(_ state: State) {
        if isLive, !state.line.isEmpty, !state.isInsideText { _ = Self.write(Array(state.line.utf8), to: errors) }
    }

    /// What a pipe that is ready takes without blocking: `PIPE_BUF` (pipe(7)).
    private static let piece = 4_096

    /// - Returns: 0, the `errno` of the write that failed, or `ECANCELED` when nobody read on and a signal came.
    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        // A file never keeps anybody waiting; a pipe, whose reader may have stopped, does.
        var status = stat()
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        var rest = bytes[...]
        while !rest.isEmpty {
            if !isFile, !Interruption.process.wait(for: POLLOUT, on: descriptor) { return ECANCELED }
            let count = isFile ? rest.count : min(rest.count, piece)
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, count) }
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if written < 0, errno != EINTR, errno != EAGAIN {
                return errno
            }
        }
        return 0
    }
}
