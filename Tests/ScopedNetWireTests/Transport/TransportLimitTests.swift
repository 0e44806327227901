import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportLimitTests {
    // THR-7
    @Test(arguments: [1, 3])
    func aHostNeverSeesMoreThanItsLimit(_ limit: Int) async throws {
        try await withWire {
            $0.limits.perHost = limit
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            let requests = (0..<12).map { _ in wire.get() }
            await withTaskGroup(of: Void.self) { group in
                for request in requests {
                    group.addTask { #expect((try? await request.response().status) == 200) }
                }
                group.addTask {
                    var done = 0
                    while done < 12 {
                        let wave = min(limit, 12 - done)
                        try? await wire.server.waitForStalls(wave)
                        done += wave
                        wire.server.releaseStalls()
                        try? await wire.server.waitForRequests(min(12, done + min(limit, 12 - done)))
                    }
                }
            }
            #expect(wire.server.maxConcurrentRequests == limit)
            #expect(wire.server.maxOpenConnections == limit)
            #expect(wire.server.requests.count == 12)
        }
    }

    /// `.max` is how programs spell "no limit".
    @Test(arguments: [Int.max, Int.max - 1, Int(Int32.max), 0, -1, Int.min])
    func anyNumberIsALimit(_ number: Int) async throws {
        try await withWire {
            $0.limits.total = number
            $0.limits.perHost = number
            $0.limits.streamsPerHost = number
            $0.limits.queued = number
        } _: { wire async throws in
            wire.server.on("/", .ok("x"))
            for _ in 0..<2 { #expect(try await wire.get().response().status == 200) }
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    // THR-7
    @Test func theTotalLimitHoldsOverHosts() async throws {
        try await withLoopbackServer { first async throws in
            try await withLoopbackServer { second async throws in
                for server in [first, second] { server.on("/", .ok("x").stalling(.beforeHead)) }
                try await withSession {
                    $0.limits.perHost = 2
                    $0.limits.total = 3
                } _: { session async throws in
                    let runs = [first, first, second, second].map { session.request($0.url + "/").start() }
                    try await first.waitForStalls(2)
                    try await second.waitForStalls(1)
                    #expect(session.admission.waitingCount == 1)
                    #expect(second.requests.count == 1)

                    first.releaseStalls()
                    try await second.waitForStalls(2)
                    second.releaseStalls()

                    _ = runs
                }
            }
        }
    }

    @Test func theQueueHasABound() async throws {
        try await withWire {
            $0.limits.perHost = 1
            $0.limits.queued = 1
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            wire.get().start()
            wire.get().start()
            let error = try await wire.get().failure()
            #expect(error.code == .queueFull)
            #expect(error.phase == .queued)
            #expect(!error.mayHaveReachedServer)
            try await wire.server.waitForStalls(1)
            wire.server.releaseStalls()
            try await wire.server.waitForRequests(2)
            try await wire.server.waitForStalls(1)
            wire.server.releaseStalls()
        }
    }

    @Test func connectionsAreKeptAndUsedAgain() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("x"))
            for _ in 0..<20 { _ = try await wire.send() }
            #expect(wire.server.connectionsAccepted == 1)
            #expect(wire.server.openConnections == 1)
        }
    }

    @Test func fiveHundredAtOnceAllComplete() async throws {
        try await withWire {
            $0.limits.perHost = 64
        } _: { wire async throws in
            wire.server.on("/*") { .ok($0.path) }
            let right = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<500 {
                    group.addTask { (try? await wire.send("/\(number)").body) == Data("/\(number)".utf8) }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(right == 500)
            #expect(wire.server.requests.count == 500)
            #expect(wire.server.maxOpenConnections <= 64)
        }
    }
}
