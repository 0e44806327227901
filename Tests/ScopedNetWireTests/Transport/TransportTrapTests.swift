import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@_spi(Census) @testable import ScopedNet

#if canImport(Glibc)
import Glibc
#endif

/// The six traps the stock client of this platform fell into, one test each.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct TransportTrapTests {
    /// 1. OpenSSL's exit handler frees what a network thread may be using.
    @Test(arguments: 0..<6)
    func exitWhileTLSTransfersRun(_ round: Int) async throws {
        await #expect(processExitsWith: .exitCode(7)) {
            let authority = try TestAuthority()
            let server = LoopbackServer(.init(tls: try authority.makeServerIdentity(), protocols: [.http2, .http1]))
            server.on("/*", .ok(.repeating(7, count: 1 << 30)))
            try await server.start()
            var configuration = Session.Configuration(agent: RequestAgent())
            configuration.proxy = .none
            configuration.tls.certificateAuthority = .pem(authority.certificatePEM)
            configuration.options.httpVersion = .http1
            configuration.limits.perHost = 32
            let session = Session(configuration: configuration)
            // Some receive, the others are in the middle of their handshakes.
            for number in 0..<32 { session.request(server.url + "/\(number)").options { $0.limits.bodyBytes = .max }.start() }
            try await server.waitForRequests(4)
            exit(7)
        }
    }

    /// 2. libcurl calls back during clean-up.
    @Test func releasedWhileCallbacksAreDue() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok(.repeating(7, count: 4 << 20)))
            for round in 0..<40 {
                let agent = RequestAgent()
                weak var released: Session?
                do {
                    var configuration = Session.Configuration(agent: agent)
                    configuration.proxy = .none
                    configuration.limits.perHost = 16
                    let session = Session(configuration: configuration)
                    released = session
                    let before = server.requests.count
                    let runs = (0..<16).map { session.request(server.url + "/\($0)").start() }
                    // Counted from here: what an earlier round cancelled early never reached the server.
                    try await server.waitForRequests(before + 1 + round % 12)
                    for run in runs { run.cancel() }
                }
                await agent.waitUntilIdle()
                // Its sockets go with the session, so none is left when its thread is.
                try await server.waitForOpenConnections { $0 == 0 }
                #expect(released == nil)
            }
        }
    }

    @Test func shutDownInTheMiddle() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok(.repeating(7, count: 64 << 20)).stalling(.afterBytes(32 << 20)))
            for round in 0..<20 {
                var configuration = Session.Configuration(agent: RequestAgent())
                configuration.proxy = .none
                let session = Session(configuration: configuration)
                let requests = (0..<8).map { session.request(server.url + "/\($0)") }
                let outcomes = requests.map { request in Task { await request.outcome() } }
                try await server.waitForRequests(round * 6 + 1)
                await session.shutdown()
                for outcome in outcomes {
                    guard case .failure(let error) = await outcome.value else { throw UnexpectedSuccess() }
                    #expect([.cancelled, .shutdown].contains(error.code), "\(error)")
                }
                guard case .failure(let late) = await session.request(server.url + "/").outcome() else { throw UnexpectedSuccess() }
                #expect(late.code == .shutdown)
                try await server.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// 3. Sockets close while epoll still has them, and their numbers come back at once.
    @Test func connectionChurn() async throws {
        try await withWire {
            $0.limits.perHost = 16
        } _: { wire async throws in
            wire.server.on("/close/*") { .ok($0.path).ending(.close) }
            wire.server.on("/keep/*") { .ok($0.path) }
            wire.server.on("/stall/*", .ok("x").stalling(.beforeHead))
            wire.server.on("/cut/*", .ok("0123456789").ending(.reset(afterBytes: 3)))
            await withTaskGroup(of: Void.self) { group in
                for lane in 0..<8 {
                    group.addTask {
                        for number in 0..<60 {
                            switch (lane + number) % 4 {
                            case 0, 1:
                                let path = (number.isMultiple(of: 2) ? "/close/" : "/keep/") + "\(lane)-\(number)"
                                let body = try? await wire.send(path).body
                                #expect(body == Data(path.utf8))
                            case 2:
                                let run = wire.get("/stall/\(lane)-\(number)").start()
                                try? await wire.server.waitForRequests(1, path: "/stall/\(lane)-\(number)")
                                run.cancel()
                            default: _ = await wire.get("/cut/\(lane)-\(number)").outcome()
                            }
                        }
                    }
                }
            }
        }
    }

    /// 4. Cancel on many threads while the loop completes: nobody waits for anybody.
    @Test func cancelFromManyThreadsDuringCompletion() async throws {
        try await withWire {
            $0.limits.perHost = 32
        } _: { wire async throws in
            wire.server.on("/", .ok("x"))
            let ends = Gathered<EndReason>()
            for _ in 0..<30 {
                let runs = (0..<32).map { _ in wire.get().onEnd { ends.add($0) }.start() }
                await withTaskGroup(of: Void.self) { group in
                    for thread in 0..<8 {
                        group.addTask {
                            for run in thread.isMultiple(of: 2) ? runs : runs.reversed() { run.cancel() }
                        }
                    }
                }
            }
            await wire.agent.waitUntilIdle()
            #expect(ends.all.count == 30 * 32)
        }
    }

    /// Cancelling inside the callback that the loop's completion brought.
    @Test func cancelInsideCallbacks() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            let ends = Gathered<EndReason>()
            for _ in 0..<100 {
                let other = wire.get().onEnd { ends.add($0) }.start()
                wire.get().onSuccess { _ in other.cancel() }.onEnd { ends.add($0) }.start()
            }
            await wire.agent.waitUntilIdle()
            #expect(ends.all.count == 200)
        }
    }

    // 5. An option libcurl refuses: `HostileInputTests`. A redirect on HTTP/2: `TransportHTTP2Tests`.
    // 6. Five hundred plain requests at once: `TransportLimitTests`.

    /// Threads and descriptors of a session go with it; a child process, so that nobody else's are counted.
    @Test func nothingIsLeftBehind() async throws {
        await #expect(processExitsWith: .success) {
            func count(_ folder: String) -> Int { ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).count }
            func networkThreads() -> Int {
                ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []).count { task in
                    (FileManager.default.contents(atPath: "/proc/self/task/\(task)/comm").map { String(decoding: $0, as: UTF8.self) } ?? "")
                        .hasPrefix("scopednet\n")
                }
            }
            let authority = try TestAuthority()
            let server = LoopbackServer(.init(tls: try authority.makeServerIdentity(), protocols: [.http2, .http1]))
            server.on("/*", .ok(.repeating(7, count: 100_000)))
            server.on("/stall", .ok("x").stalling(.beforeHead))
            try await server.start()
            func round() async throws {
                let agent = RequestAgent()
                do {
                    var configuration = Session.Configuration(agent: agent)
                    configuration.proxy = .none
                    configuration.tls.certificateAuthority = .pem(authority.certificatePEM)
                    let session = Session(configuration: configuration)
                    for version in [RequestOptions.HTTPVersionPolicy.automatic, .http1] {
                        _ = try await session.request(server.url + "/a").options { $0.httpVersion = version }.response()
                        let stalled = session.request(server.url + "/stall").options { $0.httpVersion = version }.start()
                        try await server.waitForStalls()
                        stalled.cancel()
                        for try await _ in try await session.stream(server.url + "/b").bytes { break }
                    }
                    _ = await session.request("http://127.0.0.1:1/").outcome()
                }
                await agent.waitUntilIdle()
                try await server.waitForOpenConnections { $0 == 0 }
            }
            try await round()
            // The thread goes away by itself, a moment after its last socket, and tells nobody; nor does the kernel say when it has closed
            // a descriptor. So this looks again, up to a bound.
            func settled(descriptors: Int = .max) async throws {
                for _ in 0..<2_000 {
                    // First the pause: with the first one Dispatch opens descriptors of its own for good, and they belong in the count before.
                    try await Task.sleep(for: .milliseconds(1))
                    if networkThreads() == 0, LiveObjects.snapshot().total == 0, count("/proc/self/fd") <= descriptors { return }
                }
            }
            // Dispatch opens a descriptor with the first timer of each of its clocks, whenever that is. It does so once: what is still more
            // after each of five batches was leaked.
            var before = 0
            for _ in 0..<5 {
                try await settled()
                before = count("/proc/self/fd")
                for _ in 0..<8 { try await round() }
                try await settled(descriptors: before)
                if count("/proc/self/fd") <= before { break }
            }
            guard networkThreads() == 0 else { print("\(networkThreads()) network threads"); exit(2) }
            guard LiveObjects.snapshot().total == 0 else { print(LiveObjects.snapshot()); exit(3) }
            guard count("/proc/self/fd") <= before else { print("\(before) descriptors became \(count("/proc/self/fd"))"); exit(4) }
        }
    }
}
