import FoundationEssentials
import Glibc
import ScopedNet

/// Where the body of one response goes: standard output as it arrives, or a file that appears when it is complete. One task at a time.
final class BodyOutput {
    private let console: Console
    private let path: String?
    private let temporary: String
    private var descriptor: Int32 = -1
    /// What is laid out when it is complete; nil where the body goes on as it comes.
    private var collected: Data?
    /// Longer documents are printed as they come.
    private static let mostLaidOut = 16 << 20

    /// Makes the file of the body; nil is standard output. Throws a ``ToolFailure`` when the file cannot be made.
    init(_ console: Console, path: String?) throws(ToolFailure) {
        self.console = console
        self.path = path
        temporary = FilePlace.beside(path ?? "")
        guard let path else { return }
        descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FilePlace.mode(for: path))
        guard descriptor >= 0 else { throw failure(errno, "check that the folder exists and may be written to") }
    }

    deinit { discard() }

    /// From now on the body is collected, and laid out in lines at its end if it is JSON.
    func layOut() { collected = Data() }

    func write(_ piece: Data) throws(ToolFailure) {
        guard var waiting = collected else { return try pass(piece) }
        collected = nil
        waiting.append(piece)
        if waiting.count > Self.mostLaidOut { return try pass(waiting) }
        collected = waiting
    }

    /// The body is complete.
    func finish() throws(ToolFailure) {
        if let collected {
            self.collected = nil
            if let laidOut = JSONLayout.indented(collected) { try pass(Data(laidOut)) } else { try pass(collected) }
        }
        guard let path, descriptor >= 0 else { return }
        let end = descriptor
        descriptor = -1
        guard close(end) == 0, rename(temporary, path) == 0 else {
            let code = errno
            unlink(temporary)
            throw failure(code, "the file is as it was")
        }
    }

    private func discard() {
        guard descriptor >= 0 else { return }
        close(descriptor)
        descriptor = -1
        unlink(temporary)
    }

    private func pass(_ data: Data) throws(ToolFailure) {
        guard descriptor >= 0 else { return try console.print(data) }
        var rest = data[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written > 0 {
                rest = rest.dropFirst(written)
            } else if written < 0, errno != EINTR {
                throw failure(errno, "make room, or name another place with -o")
            }
        }
    }

    private func failure(_ code: Int32, _ advice: String) -> ToolFailure {
        ToolFailure(.cannotWrite, "\(path ?? "") cannot be written: \(String(cString: strerror(code)))\n  \(advice)")
    }
}
