import Foundation
import Glibc
import Reachability
import ScopedNet

/// `ForkProbe MODE URL`: has a request under way and a monitor started, forks, lets the child do what MODE says, and then wants both to work as
/// before. It prints what it finds; `ForkTests` reads it.
@main
struct ForkProbe {
    static func main() async throws {
        let (mode, url) = (CommandLine.arguments[1], CommandLine.arguments[2])
        print("own: \(try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").joined(separator: " "))")
        let session = Session(configuration: .init(agent: RequestAgent()))
        let monitor = ReachabilityMonitor()
        try monitor.start()
        print("before: \(try await session.send(url).status)")
        async let underWay = session.send(url + "?slow")
        // A thread that is in the middle of starting it would hold a lock that nobody in the child could ever release.
        _ = try await session.send(url + "?arrived")
        usleep(50_000)
        // From here to the fork there is no `await`: it stays one thread.
        print("mask: \(ownMask())")
        fflush(nil)
        let child = forkProcess()
        if child == 0 { inChild(mode, session, monitor) }
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        print("child: \(status & 0x7f == 0 ? "exit \(status >> 8)" : "signal \(status & 0x7f)")")
        var usage = rusage()
        getrusage(__rusage_who_t(-1), &usage)
        // Each turn of a waiting loop is one.
        print("child waited: \(usage.ru_nvcsw < 100 ? "no" : "\(usage.ru_nvcsw) times")")
        print("monitor: \(monitor.isStarted) \(monitor.currentPath != nil)")
        _ = try await session.send(url + "?release")
        print("under way: \(try await underWay.status)")
        print("after: \(try await session.send(url).status)")
        await session.shutdown()
    }

    /// The signals this thread has blocked, as the kernel writes them.
    private static func ownMask() -> String {
        let text = (try? String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }?.split(separator: "\t").last.map(String.init) ?? ""
    }

    /// fork(2), which Swift hides with good reason: the child has one thread, and must not count on locks, Dispatch or tasks.
    private static func forkProcess() -> pid_t {
        typealias Fork = @convention(c) () -> pid_t
        guard let symbol = dlsym(nil, "fork") else { return -1 }
        return unsafeBitCast(symbol, to: Fork.self)()
    }

    private static func inChild(_ mode: String, _ session: Session, _ monitor: ReachabilityMonitor) -> Never {
        if mode == "exec" {
            let script = "echo $(ls /proc/self/fd) $(grep SigBlk /proc/self/status)"
            var words: [UnsafeMutablePointer<CChar>?] = ["sh", "-c", script].map { (word: String) in strdup(word) } + [nil]
            execv("/bin/sh", &words)
            _exit(127)
        }
        if mode == "exit" { exit(3) }
        if mode == "touch" {
            session.agent.cancelAll()
            monitor.stop()
            exit(4)
        }
        _exit(9)
    }
}
