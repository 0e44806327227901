package import Foundation
import Glibc

/// One run of a program: what it wrote, and how it ended.
package struct ProgramResult: Sendable {
    package var status: Int32
    package var output: String
    package var errors: String
}

/// A program beside the test bundle, run as a process.
package final class ProgramRun: @unchecked Sendable {
    // Safety: `lines` and `errorText` are touched under the condition's lock only; everything else is set in `init`.
    package let pid: pid_t
    private let condition = NSCondition()
    private var outputText = ""
    private var errorText = ""
    private var openStreams = 2
    private var status: Int32?

    /// Starts a program: a path, or a name that is looked up in PATH. `environment` replaces or adds.
    package init(_ arguments: [String], environment: [String: String] = [:], input: String = "") throws {
        let ends = try (0..<3).map { _ in try PipeEnds() }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0].reading, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1].writing, 1)
        posix_spawn_file_actions_adddup2(&actions, ends[2].writing, 2)
        // A worker thread of the tests has signals blocked, and a child inherits that.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&defaults, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var variables = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        variables["TERM"] = "xterm"
        variables.merge(environment) { $1 }
        var words = arguments.map { strdup($0) } + [nil]
        var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + settings).forEach { free($0) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, arguments[0], &actions, &attributes, &words, &settings)
        for (end, isInput) in zip(ends, [true, false, false]) { close(isInput ? end.reading : end.writing) }
        guard code == 0 else { throw CommandFailure(description: "\(arguments[0]): \(String(cString: strerror(code)))") }
        pid = child
        _ = write(ends[0].writing, input, input.utf8.count)
        close(ends[0].writing)
        read(ends[1].reading) { self.outputText += $0 }
        read(ends[2].reading) { self.errorText += $0 }
        Thread.detachNewThread { self.awaitEnd() }
    }

    deinit {
        // Reaped already unless a test failed.
        if status == nil { kill(pid, SIGKILL) }
    }

    package func send(_ signal: Int32) { kill(pid, signal) }

    private func read(_ descriptor: Int32, _ append: @escaping @Sendable (String) -> Void) {
        Thread.detachNewThread { [self] in
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                condition.lock()
                if count > 0 { append(String(decoding: buffer[..<count], as: UTF8.self)) } else { openStreams -= 1 }
                condition.broadcast()
                condition.unlock()
                if count <= 0 { break }
            }
            close(descriptor)
        }
    }

    private func awaitEnd() {
        var word: Int32 = 0
        while waitpid(pid, &word, 0) < 0, errno == EINTR {}
        condition.lock()
        // As a shell says it.
        status = word & 0x7f == 0 ? word >> 8 & 0xff : 128 + (word & 0x7f)
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for what it writes to be so; false when it ended, or a minute passed, without that.
    package func waitForOutput(_ isRight: @escaping @Sendable (_ output: String, _ errors: String) -> Bool) async -> Bool {
        await Self.onThread { self.blockUntilOutput(isRight) }
    }

    /// Waits for the end of the process and of what it writes. Killed after so many seconds: a status of -1 says so.
    package func result(within seconds: Double = 120) async -> ProgramResult {
        await Self.onThread { self.blockUntilResult(within: seconds) }
    }

    package func blockUntilOutput(_ isRight: (_ output: String, _ errors: String) -> Bool) -> Bool {
        let deadline = Date(timeIntervalSinceNow: 60)
        condition.lock()
        defer { condition.unlock() }
        while !isRight(outputText, errorText) {
            if openStreams == 0 || !condition.wait(until: deadline) { return isRight(outputText, errorText) }
        }
        return true
    }

    package func blockUntilResult(within seconds: Double = 120) -> ProgramResult {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while status == nil || openStreams > 0 {
            if !condition.wait(until: deadline) {
                kill(pid, SIGKILL)
                return ProgramResult(status: -1, output: outputText, errors: errorText)
            }
        }
        return ProgramResult(status: status ?? -1, output: outputText, errors: errorText)
    }

    /// Waiting blocks, so it gets a thread of its own.
    package static func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    private struct PipeEnds {
        let reading: Int32
        let writing: Int32

        init() throws {
            var ends: [Int32] = [0, 0]
            guard pipe(&ends) == 0 else { throw CommandFailure(description: "no pipe: \(String(cString: strerror(errno)))") }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (reading, writing) = (ends[0], ends[1])
        }
    }
}

package struct CommandFailure: Error, CustomStringConvertible {
    package let description: String
    package init(description: String) { self.description = description }
}

/// Where the products of this build are.
package let buildFolder = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map {
    URL(filePath: $0).deletingLastPathComponent()
}

/// The path of an executable of this package.
package func product(_ name: String) -> String { buildFolder?.appending(path: name).path ?? name }
