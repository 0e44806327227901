internal import Dispatch
internal import Foundation
internal import Glibc
internal import ScopedNet
import SystemSupport

/// Another program, started for a test. Foundation's `Process` gives each thread it is used on a run loop, with descriptors that stay open; this
/// leaves nothing.
package final class ChildProcess: Sendable {
    /// What came of it.
    package struct Result: Sendable {
        /// Its exit status; 128 and the number of the signal where one ended it.
        package let status: Int32
        package let output: String
        package let errors: String
    }

    package struct Failure: Error {
        package let message: String
    }

    private let identifier: pid_t
    private let folder: String
    private let ending = Ending()

    /// Starts a program, found like a shell finds it. Its standard input is empty, its environment that of this process where nil.
    package init(_ arguments: [String], environment: [String: String]? = nil) throws {
        folder = NSTemporaryDirectory() + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, folder + "/out", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_addopen(&actions, 2, folder + "/err", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        // A socket that lived on in a child would keep its port and its peer waiting.
        let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd"))?.compactMap { Int32($0) } ?? []
        for descriptor in 3..<(open.max() ?? 3) + 64 { posix_spawn_file_actions_addclose(&actions, descriptor) }
        // The threads of a test block signals that a child has to hear.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let variables = (environment ?? ProcessInfo.processInfo.environment).map { "\($0)=\($1)" }
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        var pairs: [UnsafeMutablePointer<CChar>?] = variables.map { strdup($0) } + [nil]
        defer { for text in words + pairs { free(text) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, arguments.first ?? "", &actions, &attributes, &words, &pairs)
        guard code == 0 else {
            try? FileManager.default.removeItem(atPath: folder)
            throw Failure(message: "\(arguments.first ?? "nothing") does not start: \(String(cString: strerror(code)))")
        }
        identifier = child
        ending.take(child)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// Ends it at once; the kernel closes its connections.
    package func kill() { _ = Glibc.kill(identifier, SIGKILL) }

    /// Waits for its end, on this thread.
    package func wait() -> Result {
        ending.over.wait()
        ending.over.signal()
        return result(ending.status.withLock { $0 })
    }

    /// Waits for its end.
    package func end() async -> Result {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: self.wait()) }
        }
    }

    private func result(_ status: Int32) -> Result {
        let signal = status & 0x7F
        return Result(status: signal == 0 ? status >> 8 & 0xFF : 128 + signal, output: text("out"), errors: text("err"))
    }

    private func text(_ name: String) -> String {
        let descriptor = open(folder + "/" + name, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(descriptor, &piece, piece.count)
            guard count > 0 else { break }
            text += piece[..<count]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Outlives the process object: whoever waits for just any child, as exit tests do, must not meet one that nobody takes.
    private final class Ending: Sendable {
        let status = Lock<Int32>(0)
        let over = DispatchSemaphore(value: 0)

        func take(_ child: pid_t) {
            let thread = Thread { [self] in
                var status: Int32 = 0
                while waitpid(child, &status, 0) < 0, errno == EINTR {}
                self.status.withLock { $0 = status }
                over.signal()
            }
            thread.start()
        }
    }
}
