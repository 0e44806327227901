import SystemSupport

/// One run's claim to a target, and its turn at the part.
///
/// The stages of the run use the part one after the other; a cancel may end the claim at any time, from any thread. Who is using the part then
/// closes it afterwards, otherwise the one who ends the claim does. Nothing is done under the lock.
final class DownloadClaim: Sendable {
    private struct State {
        var isInUse = false
        var hasEnded = false
        var isClosed = false
        var nextWaiter = 0
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    let target: DownloadTarget
    let run: UInt64
    /// Whether its run goes no further, and will let go of the target without being asked.
    let isLeaving: @Sendable () -> Bool
    private let part: DownloadPart
    private let state = Lock(State())

    init(_ target: DownloadTarget, _ part: DownloadPart, run: UInt64, isLeaving: @escaping @Sendable () -> Bool) {
        self.target = target
        self.part = part
        self.run = run
        self.isLeaving = isLeaving
    }

    /// True while the part is in use, as by a writer whose disk has not returned.
    var isInUse: Bool { state.withLock { $0.isInUse } }

    /// Calls `body` with the part.
    ///
    /// - Throws: `cancelled` once the claim has ended, and what `body` throws.
    func use<Result>(_ body: (DownloadPart) throws(NetworkError) -> Result) throws(NetworkError) -> Result {
        let mayUse = state.withLock { state -> Bool in
            guard !state.hasEnded, !state.isInUse else { return false }
            state.isInUse = true
            return true
        }
        guard mayUse else { throw NetworkError(.cancelled, phase: .receiving, message: "the download has ended") }
        defer { if giveBack() { close() } }
        return try body(part)
    }

    /// Takes the part for longer than a call: until ``release()``, an end of the claim closes nothing.
    ///
    /// - Returns: false once the claim has ended, and while somebody else uses the part.
    func hold() -> Bool {
        state.withLock { state in
            guard !state.hasEnded, !state.isInUse else { return false }
            state.isInUse = true
            return true
        }
    }

    /// Of whoever holds the part.
    func useHeld<Result>(_ body: (DownloadPart) throws(NetworkError) -> Result) throws(NetworkError) -> Result { try body(part) }

    /// Gives the part back. Never blocks: what was to be closed meanwhile is closed elsewhere.
    func release() {
        if giveBack() { BlockingPool.shared.submit(.init(self)) { self.close() } }
    }

    /// - Returns: true when the claim has ended meanwhile.
    private func giveBack() -> Bool {
        state.withLock { state in
            state.isInUse = false
            return state.hasEnded
        }
    }

    /// Lets go of target and part. Blocks for as long as the disk does. Idempotent, any thread.
    ///
    /// - Returns: how many bytes are kept; nil for none, and when somebody else closes the part.
    @discardableResult
    func end() -> Int64? {
        let mayClose = state.withLock { state -> Bool in
            guard !state.hasEnded else { return false }
            state.hasEnded = true
            return !state.isInUse
        }
        return mayClose ? close() : nil
    }

    @discardableResult
    private func close() -> Int64? {
        let kept = part.close()
        DownloadClaims.shared.remove(self)
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
        return kept
    }

    /// Returns when the target is free, or the task is cancelled.
    func closed() async {
        let number = state.withLock { state -> Int in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state -> Bool in
                    guard !state.isClosed, !Task.isCancelled else { return false }
                    state.waiters[number] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
        }
    }
}
