import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import Testing

@_spi(Census) @testable import ScopedNet

/// A process without descriptors or threads, and signals: errors of their own, and as soon as there is room again, all goes on. Each in a
/// child process, which nobody else shares.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct ResourceFaultTests {
    /// With room for none, one, two … descriptors, a different call fails each time: eventfd(2), epoll_create1(2), libcurl's own, socket(2).
    @Test func descriptorsRunOut() async throws {
        // Not in the child: accept(2) needs descriptors, too.
        let server = try RawServer { connection, _ in
            while connection.readHead() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
        }
        defer { server.stop() }
        await #expect(processExitsWith: .success) { [port = server.port as Int] in
            var limit = rlimit(rlim_cur: 256, rlim_max: 256)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // What dispatch and the runtime open for themselves is open now.
            let warm = exitSession()
            guard case .success = await warm.request("http://localhost:\(port)/").outcome() else { exit(2) }
            await warm.shutdown()
            var failures = 0
            var beforeTheThread = 0
            for host in ["127.0.0.1", "localhost"] {
                for room in 0..<12 {
                    let session = exitSession()
                    var fillers = fillDescriptors()
                    for filler in fillers.suffix(room) { close(filler) }
                    fillers.removeLast(min(room, fillers.count))
                    let outcome = await session.request("http://\(host):\(port)/").outcome()
                    for filler in fillers { close(filler) }
                    switch outcome {
                    // The session before may have given back its last descriptor only now.
                    case .success: break
                    case .failure(let error):
                        guard error.code == .resources || host == "localhost" && error.code == .nameNotResolved else {
                            print("\(host) \(room): \(error)"); exit(4)
                        }
                        failures += 1
                        if error.underlying as? NetworkError.SystemError == NetworkError.SystemError(code: EMFILE) { beforeTheThread += 1 }
                        guard room < 11 else { exit(6) }
                    }
                    // The same session has what it needs now.
                    let second = await session.request("http://\(host):\(port)/").outcome()
                    guard case .success = second else { print("after \(room): \(second)"); exit(7) }
                    await session.shutdown()
                }
            }
            guard beforeTheThread > 0, failures > beforeTheThread else { print("\(beforeTheThread) of \(failures)"); exit(3) }
        }
    }

    /// A server that sends more than the process has memory for ends its own request and nothing else.
    @Test func memoryRunsOut() async throws {
        let server = try RawServer { connection, _ in
            while let head = connection.readHead() {
                guard head.hasPrefix("GET /large") else {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
                    continue
                }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(400 << 20)\r\n\r\n")
                let piece = String(repeating: "x", count: 1 << 20)
                for _ in 0..<400 { connection.send(piece) }
            }
        }
        defer { server.stop() }
        await #expect(processExitsWith: .success) { [port = server.port as Int] in
            let session = exitSession()
            guard case .success = await session.request("http://127.0.0.1:\(port)/").outcome() else { exit(2) }
            let pages = (FileManager.default.contents(atPath: "/proc/self/statm").map { String(decoding: $0, as: UTF8.self) } ?? "").split(
                separator: " ")
            guard let size = pages.first.flatMap({ rlim_t(String($0)) }) else { exit(3) }
            let most = size * 4096 + (160 << 20)
            var limit = rlimit(rlim_cur: most, rlim_max: most)
            setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            let outcome = await session.request("http://127.0.0.1:\(port)/large").options { $0.limits.bodyBytes = .max }.outcome()
            guard case .failure(let error) = outcome, error.code == .resources, error.message.contains("memory") else { exit(4) }
            guard case .success = await session.request("http://127.0.0.1:\(port)/").outcome() else { exit(5) }
            await session.shutdown()
        }
    }

    /// socket(2) fails while others are under way, which do not suffer.
    @Test func descriptorsRunOutInTheMiddle() async throws {
        await #expect(processExitsWith: .success) {
            let first = DispatchSemaphore(value: 0)
            let server = try RawServer { connection, _ in
                guard connection.readHead() != nil else { return }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")
                first.wait()
                connection.send("b")
            }
            var limit = rlimit(rlim_cur: 256, rlim_max: 256)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let session = exitSession()
            let (heads, seen) = AsyncStream.makeStream(of: Void.self)
            let running = session.request("http://127.0.0.1:\(server.port)/").onDownloadProgress { _ in seen.yield() }
            running.start()
            for await _ in heads { break }
            let fillers = fillDescriptors()
            for _ in 0..<5 {
                let outcome = await session.request("http://127.0.0.1:\(server.port)/").outcome()
                guard case .failure(let error) = outcome, error.code == .resources else { print(outcome); exit(2) }
                guard !error.mayHaveReachedServer else { exit(3) }
            }
            first.signal()
            await session.agent.waitUntilIdle()
            guard case .success(let response) = running.result, response.body == Data("ab".utf8) else { exit(4) }
            for filler in fillers { close(filler) }
        }
    }

    @Test func threadsRunOut() async throws {
        await #expect(processExitsWith: .success) {
            let server = try RawServer { connection, _ in
                while connection.readHead() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
            }
            let warm = exitSession()
            guard case .success = await warm.request("http://127.0.0.1:\(server.port)/").outcome() else { exit(2) }
            // The limit is one of users, and root has none.
            if geteuid() == 0 { guard setuid(65_534) == 0 else { exit(5) } }
            var limit = rlimit()
            getrlimit(limitOnThreads, &limit)
            limit.rlim_cur = 1
            setrlimit(limitOnThreads, &limit)
            let session = exitSession()
            for _ in 0..<3 {
                let outcome = await session.request("http://127.0.0.1:\(server.port)/").outcome()
                guard case .failure(let error) = outcome, error.code == .resources, error.message.contains("thread") else {
                    print(outcome); exit(3)
                }
                guard error.underlying as? NetworkError.SystemError == NetworkError.SystemError(code: EAGAIN) else { print(error); exit(4) }
            }
            guard LiveObjects.snapshot().total < 20 else { print(LiveObjects.snapshot()); exit(6) }
            limit.rlim_cur = limit.rlim_max
            setrlimit(limitOnThreads, &limit)
            // Servers need a thread for each connection, too.
            let outcome = await session.request("http://127.0.0.1:\(server.port)/").outcome()
            guard case .success = outcome else { print(outcome); exit(7) }
        }
    }

    /// The program's signals are the program's: none is ever handled on the network thread, not even in its first instruction.
    @Test func signalsGoToTheProgram() async throws {
        await #expect(processExitsWith: .success) {
            let server = try RawServer { connection, _ in
                while connection.readHead() != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
            }
            for _ in 0..<20 {
                let session = exitSession()
                guard case .success = await session.request("http://127.0.0.1:\(server.port)/").outcome() else { exit(2) }
                var masks = networkThreadMasks()
                // A thread that is on its way out has everything blocked (glibc), and so has one that is just being made: they are looked at again.
                for _ in 0..<1_000 where masks.contains(where: { $0 >> UInt64(SIGSEGV - 1) & 1 == 1 }) {
                    usleep(10_000)
                    masks = networkThreadMasks()
                }
                guard masks.count >= 1 else { exit(3) }
                for mask in masks {
                    for signal in [SIGHUP, SIGINT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGXFSZ, SIGPROF] {
                        guard mask >> UInt64(signal - 1) & 1 == 1 else { print("signal \(signal) is open"); exit(4) }
                    }
                    // A fault must still be reported where it happened.
                    for signal in [SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT] {
                        guard mask >> UInt64(signal - 1) & 1 == 0 else { print("signal \(signal) is blocked"); exit(5) }
                    }
                }
                await session.shutdown()
            }
        }
    }

    @Test func theCallersOwnMaskIsAsItWas() throws {
        var before = sigset_t()
        var after = sigset_t()
        pthread_sigmask(SIG_SETMASK, nil, &before)
        let thread = try NetworkThread(settings: .init())
        pthread_sigmask(SIG_SETMASK, nil, &after)
        thread.post(.stop({}))
        for signal in Int32(1)..<32 { #expect(sigismember(&before, signal) == sigismember(&after, signal)) }
    }

    /// The server is gone while we send: an error, not SIGPIPE.
    @Test func aServerThatLeavesWhileWeSend() async throws {
        await #expect(processExitsWith: .success) {
            signal(SIGPIPE, SIG_DFL)
            let server = try RawServer { connection, number in
                _ = connection.read(10_000 + number * 1_000)
                if number.isMultiple(of: 2) { connection.reset() }
            }
            let session = exitSession()
            for size in [300_000, 8 << 20] {
                for _ in 0..<20 {
                    let body = RequestBody.data(Data(repeating: 7, count: size))
                    let outcome = await session.request("http://127.0.0.1:\(server.port)/", method: .post, body: body).outcome()
                    guard case .failure(let error) = outcome, error.code == .connectionLost else { print(outcome); exit(2) }
                }
            }
        }
    }
}

// MARK: For the children

private func exitSession() -> Session {
    var configuration = Session.Configuration(agent: RequestAgent())
    configuration.proxy = .none
    configuration.options.timeouts = Timeouts(connect: .seconds(10), firstByte: .seconds(20), idle: .seconds(20))
    return Session(configuration: configuration)
}

/// Opens until nothing can be opened any more.
private func fillDescriptors() -> [Int32] {
    var fillers: [Int32] = []
    while true {
        let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return fillers }
        fillers.append(descriptor)
    }
}

/// The blocked signals of each network thread, one bit for each.
private func networkThreadMasks() -> [UInt64] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.compactMap { task in
        let status =
            FileManager.default.contents(atPath: "/proc/self/task/\(task)/status").map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard status.hasPrefix("Name:\tscopednet\n") else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        return line.flatMap { UInt64($0.split(separator: "\t").last ?? "", radix: 16) }
    }
}

/// RLIMIT_NPROC of getrlimit(2), which Swift's Glibc leaves out.
private let limitOnThreads = __rlimit_resource_t(6)
