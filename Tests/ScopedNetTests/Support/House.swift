import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A server, a session of its own, an agent of its own: what most tests live in. At the end nothing may be alive.
struct House: Sendable {
    let server: LoopbackServer
    let session: Session
    var agent: RequestAgent { session.agent }

    func url(_ path: String) -> String { server.url + path }
}

func withHouse(
    _ server: LoopbackServer.Configuration = .init(), _ change: (inout Session.Configuration) -> Void = { _ in },
    sourceLocation: SourceLocation = #_sourceLocation, _ body: (House) async throws -> Void
) async throws {
    let server = LoopbackServer(server)
    try await server.start()
    var configuration = Session.Configuration(agent: RequestAgent())
    configuration.proxy = .none
    change(&configuration)
    let house = House(server: server, session: Session(configuration: configuration))
    do {
        try await body(house)
    } catch {
        await house.server.stop()
        throw error
    }
    server.releaseStalls()
    await house.agent.idle()
    #expect(house.agent.liveCount == 0, sourceLocation: sourceLocation)
    #expect(house.session.admission.activeCount == 0 || house.session.admission.waitingCount == 0, sourceLocation: sourceLocation)
    await house.server.stop()
}

/// What happened, in order, from any thread; waits by event.
final class Trace: Sendable {
    private struct State {
        var lines: [String] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Lock(State())

    var lines: [String] { state.withLock { $0.lines } }

    func add(_ line: String) {
        let ready = state.withLock { state in
            state.lines.append(line)
            let ready = state.waiters.filter { $0.count <= state.lines.count }
            state.waiters.removeAll { $0.count <= state.lines.count }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    func count(_ line: String) -> Int { lines.count { $0 == line } }

    /// Returns when there are as many lines.
    func wait(for count: Int) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                if state.lines.count >= count { return true }
                state.waiters.append((count, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// An object to watch die.
final class Canary: Sendable {}

/// Opens once; everybody waits for it.
final class Latch: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Lock(State())

    var isOpen: Bool { state.withLock { $0.isOpen } }

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state -> Bool in
                if state.isOpen { return true }
                state.waiters.append(continuation)
                return false
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// A number several threads count.
final class Counter: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func add(_ amount: Int = 1) { count.withLock { $0 += amount } }
    func set(_ amount: Int) { count.withLock { $0 = amount } }
}
