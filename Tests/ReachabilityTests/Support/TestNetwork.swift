import CNetlink
import CSandbox
import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import Reachability

/// A network namespace of a test's own, with `ip` to change it. It belongs to one thread and goes with it.
struct TestNetwork {
    enum Stack: String, CaseIterable, Sendable { case ipv4, ipv6, dual }

    let stack: Stack
    var hasIPv4: Bool { stack != .ipv6 }
    var hasIPv6: Bool { stack != .ipv4 }

    /// Runs the body on a thread in a fresh namespace.
    static func run(_ stack: Stack = .dual, _ body: @escaping @Sendable (TestNetwork) throws -> Void) async throws {
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            let thread = Thread {
                continuation.resume(returning: Result { try enterNamespace(stack, body) })
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        try result.get()
    }

    private static func enterNamespace(_ stack: Stack, _ body: (TestNetwork) throws -> Void) throws {
        guard cnl_unshare_network() == 0 else { throw CommandFailure("unshare: \(String(cString: strerror(errno)))") }
        let network = TestNetwork(stack: stack)
        try network.ip("link set lo up")
        if stack == .ipv4 {
            for scope in ["all", "default", "lo"] { network.write("1", to: "/proc/sys/net/ipv6/conf/\(scope)/disable_ipv6") }
        }
        try body(network)
    }

    /// The reason for leaving out tests in namespaces: there are none, or other tests would keep the cores from what is timed. Nil where they run.
    static let obstacle: Comment? = Company.hasServers && !Company.isAlone ? Company.reason : whyNoNamespaces

    private static let whyNoNamespaces: Comment? = {
        final class Answer: @unchecked Sendable { var text: String? = "no answer" }
        let answer = Answer()
        let done = DispatchSemaphore(value: 0)
        Thread {
            // Safety: written before the semaphore is signalled, read after it was waited for.
            answer.text = cnl_unshare_network() == 0 ? nil : "this process may not make network namespaces (run it in `unshare -Urn`)"
            if answer.text == nil {
                do {
                    try TestNetwork(stack: .dual).ip("link add v0 type veth peer name p0")
                } catch {
                    answer.text = "\(error)"
                }
            }
            done.signal()
        }.start()
        done.wait()
        return answer.text.map { Comment(rawValue: $0) }
    }()

    static var isAvailable: Bool { obstacle == nil }

    /// A fresh `unshare -Urn` has its loopback down; elsewhere it is up, and this does nothing.
    static func raiseLoopback() { TestNetwork(stack: .dual).setUp(true, "lo") }

    // MARK: Changing it

    /// One command of ip(8).
    func ip(_ arguments: String) throws {
        let (status, output) = try Command.run(["ip"] + arguments.split(separator: " ").map(String.init))
        guard status == 0 else { throw CommandFailure("ip \(arguments): \(output)") }
    }

    /// Many commands in one process; those that fail are skipped.
    @discardableResult
    func batch(_ lines: [String]) throws -> String {
        try Command.run(["ip", "-force", "-batch", "-"], input: lines.joined(separator: "\n") + "\n").output
    }

    /// How many of the commands failed, by what ip(8) said of them.
    static func failures(in output: String) -> Int { output.split(separator: "\n").count { $0.hasPrefix("Command failed") } }

    /// Moves p0 to a namespace of its own and gives it fd01::1 there. It lives until the answer is signalled.
    func addNeighbour() throws -> DispatchSemaphore {
        let (arrived, moved, ready, end) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        let thread = Lock<String>("")
        let name = Shared(thread)
        Thread {
            _ = cnl_unshare_network()
            let place = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
            name.lock.withLock { $0 = place.split(separator: "/").last.map(String.init) ?? "" }
            arrived.signal()
            moved.wait()
            _ = try? TestNetwork(stack: .ipv6).batch(["link set p0 up", "addr add fd01::1/64 dev p0 nodad"])
            ready.signal()
            end.wait()
        }.start()
        arrived.wait()
        try ip("link set p0 netns \(name.lock.withLock { $0 })")
        moved.signal()
        ready.wait()
        return end
    }

    private final class Shared<Value>: Sendable {
        let lock: Lock<Value>
        init(_ lock: consuming Lock<Value>) { self.lock = lock }
    }

    /// Addresses of links made from now on are ready at once.
    func skipDuplicateDetection() {
        for scope in ["all", "default"] { write("0", to: "/proc/sys/net/ipv6/conf/\(scope)/accept_dad") }
    }

    /// The kernel's own delay is over: links that are up say so.
    func waitForCarriers(_ names: [String]) throws {
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            let lines = try Command.run(["ip", "-o", "link", "show", "up"]).output.split(separator: "\n")
            let ready = lines.filter { $0.contains(" state UP ") }
            if names.allSatisfy({ name in ready.contains { $0.contains(" \(name)@") } }) { return }
        }
        throw CommandFailure("no carrier on \(names)")
    }

    func canMake(_ type: String) -> Bool {
        guard (try? ip("link add probe0 type \(type)")) != nil else { return false }
        try? ip("link del probe0")
        return true
    }

    private func write(_ text: String, to path: String) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = Glibc.write(descriptor, text, text.utf8.count)
        close(descriptor)
    }

    /// v0 with an address and a default route, and its other end p0, whose going down takes the carrier away.
    func addUplink(_ name: String = "0", metric: Int? = nil, isPeerUp: Bool = true) throws {
        let number = Int(name) ?? 0
        try ip("link add v\(name) type veth peer name p\(name)")
        if isPeerUp { try ip("link set p\(name) up") }
        try ip("link set v\(name) up")
        try uplinkAddresses(number, metric: metric).forEach(ip)
    }

    /// What makes an uplink of a link that is up, as arguments of ip(8).
    func uplinkAddresses(_ number: Int = 0, metric: Int? = nil) -> [String] {
        let metric = metric.map { " metric \($0)" } ?? ""
        var lines: [String] = []
        if hasIPv4 {
            lines += ["addr add 10.9.\(number).1/24 dev v\(number)", "route add default via 10.9.\(number).2 dev v\(number)\(metric)"]
        }
        if hasIPv6 {
            let prefix = number < 9 ? "fd0\(number + 1)" : "fd10:\(number)"
            lines += [
                "addr add \(prefix)::1/64 dev v\(number) nodad", "route add default via \(prefix)::2 dev v\(number)\(metric)",
            ]
        }
        return lines
    }

    /// Takes the administrative state of a link up or down without another process; answers at once, unlike `ip`.
    ///
    /// - Returns: whether that was done.
    @discardableResult
    func setUp(_ isUp: Bool, _ name: String) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        var request = Array(name.utf8) + [UInt8](repeating: 0, count: 40 - name.utf8.count)
        guard ioctl(descriptor, 0x8913, &request) == 0 else { return false }
        request[16] = isUp ? request[16] | 1 : request[16] & ~1
        return ioctl(descriptor, 0x8914, &request) == 0
    }

    /// The kernel's own delay of a lost carrier is over: it says so.
    func waitForLostCarrier(_ name: String) throws {
        let deadline = ContinuousClock.now + .seconds(5)
        while ContinuousClock.now < deadline {
            if try Command.run(["ip", "-o", "link", "show", name]).output.contains("LOWERLAYERDOWN") { return }
        }
        throw CommandFailure("\(name) keeps its carrier")
    }

    // MARK: Watching it

    func monitor(
        _ target: NetworkPath.Target = .defaultPath, _ configure: (inout ReachabilityMonitor.Configuration) -> Void = { _ in }
    ) -> ReachabilityMonitor {
        var configuration = ReachabilityMonitor.Configuration()
        // What the machine's own file says is nothing to these tests.
        configuration.resolverFile = "/nonexistent/resolv.conf"
        configure(&configuration)
        return ReachabilityMonitor(target: target, configuration: configuration)
    }
}

struct CommandFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// Many commands of ip(8), in a process that runs beside the test. Those that fail are skipped.
final class BackgroundBatch {
    private let thread: Thread
    init(_ lines: [String]) {
        // A thread lives in the namespace of the one that makes it.
        thread = Thread {
            _ = try? Command.run(["ip", "-force", "-batch", "-"], input: lines.joined(separator: "\n") + "\n")
        }
        thread.start()
    }

    var hasEnded: Bool { thread.isFinished }
}

enum Command {
    /// Runs a program in the namespace of this thread; what it says, errors included, is its output.
    static func run(_ arguments: [String], input: String = "") throws -> (status: Int32, output: String) {
        var into: [Int32] = [0, 0]
        var from: [Int32] = [0, 0]
        guard makePipe(&into), makePipe(&from) else { throw CommandFailure("pipe") }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, into[0], 0)
        posix_spawn_file_actions_adddup2(&actions, from[1], 1)
        posix_spawn_file_actions_adddup2(&actions, from[1], 2)
        var pid: pid_t = 0
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = posix_spawnp(&pid, arguments[0], &actions, nil, &words, environ)
        close(into[0])
        close(from[1])
        defer { close(from[0]) }
        guard code == 0 else {
            close(into[1])
            throw CommandFailure("\(arguments[0]) is not there (package iproute2)")
        }
        // Smaller than a pipe holds, or read as it is written: `ip -batch` says little.
        _ = write(into[1], input, input.utf8.count)
        close(into[1])
        var output = [UInt8]()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = read(from[0], &buffer, buffer.count)
            if count > 0 { output += buffer[..<count] } else if count == 0 || errno != EINTR { break }
        }
        var status: Int32 = 0
        while waitpid(pid, &status, 0) < 0, errno == EINTR {}
        return (status, String(decoding: output, as: UTF8.self))
    }

    /// Closed on exec from the first: another thread may start a program at any moment.
    private static func makePipe(_ ends: inout [Int32]) -> Bool { pipe2(&ends, O_CLOEXEC) == 0 }
}
