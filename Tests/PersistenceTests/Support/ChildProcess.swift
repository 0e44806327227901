import Glibc
import Testing

/// A program that a test started: it reads what it prints, and may kill it.
final class ChildProcess {
    let pid: pid_t
    private let output: Int32
    private var rest: [UInt8] = []
    private var status: Int32?
    private var isAtEnd = false

    /// The executable beside the tests.
    static var crasher: String {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, 4095)
        let text = String(decoding: path.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/StoreCrasher"
    }

    convenience init(_ arguments: [String]) throws { try self.init(ChildProcess.crasher, arguments) }

    init(_ program: String, _ arguments: [String]) throws {
        var ends: [Int32] = [-1, -1]
        let hasPipe = pipe(&ends) == 0
        try #require(hasPipe)
        // Another child that is started at the same moment must not keep this one's pipe open.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, program, &actions, nil, &words, environ)
        for word in words { free(word) }
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
        output = ends[0]
        self.pid = pid
        try #require(code == 0, "\(program): \(String(cString: strerror(code)))")
    }

    deinit {
        if status == nil {
            Glibc.kill(pid, SIGKILL)
            wait()
        }
        close(output)
    }

    /// The next line; nil at the end. A program that says nothing for so long hangs, and is killed.
    func line() -> String? {
        if let line = line(within: 60_000) { return line }
        if !isAtEnd { kill(SIGKILL) }
        return nil
    }

    /// The next line; nil at the end, or when `milliseconds` pass without one.
    func line(within milliseconds: Int32) -> String? {
        while true {
            if let end = rest.firstIndex(of: 10) {
                let line = String(decoding: rest[..<end], as: UTF8.self)
                rest.removeFirst(end + 1)
                return line
            }
            var poll = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard Glibc.poll(&poll, 1, milliseconds) > 0 else { return nil }
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = read(output, &buffer, buffer.count)
            guard count > 0 else {
                isAtEnd = true
                return nil
            }
            rest += buffer[..<count]
        }
    }

    /// All lines that come in this time, or until the program ends.
    func lines(for milliseconds: Int) -> [String] {
        var lines: [String] = []
        let end = ContinuousClock.now + .milliseconds(milliseconds)
        while true {
            let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
            guard left > 0, let line = line(within: Int32(left.rounded(.up))) else { return lines }
            lines.append(line)
        }
    }

    func kill(_ signal: Int32) { Glibc.kill(pid, signal) }

    /// - Returns: the exit code, or 128 and the signal.
    @discardableResult
    func wait() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(pid, &raw, 0) < 0 && errno == EINTR {}
        let result = raw & 0x7f == 0 ? raw >> 8 & 0xff : 128 + raw & 0x7f
        status = result
        return result
    }
}
