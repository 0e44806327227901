#if TestServer
internal import NIOCore
internal import Synchronization

/// The responses that stand still, so that a test can let them go on.
final class StallRegistry: Sendable {
    private struct State {
        var stalls: [Int: EventLoopPromise<Void>] = [:]
        var next = 0
    }

    private let state = Mutex(State())

    func add(_ stall: EventLoopPromise<Void>) -> Int {
        state.withLock { state in
            state.next += 1
            state.stalls[state.next] = stall
            return state.next
        }
    }

    /// Ends one stall. Once removed it belongs to the caller, so no promise is fulfilled twice.
    func release(_ id: Int) {
        state.withLock { $0.stalls.removeValue(forKey: id) }?.succeed()
    }

    func releaseAll() {
        let stalls = state.withLock { state in
            defer { state.stalls = [:] }
            return state.stalls.values.map { $0 }
        }
        for stall in stalls { stall.succeed() }
    }
}
#endif
