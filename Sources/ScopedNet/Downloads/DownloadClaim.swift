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
        defer {
            let mustClose = state.withLock { state -> Bool in
                state.isInUse = false
                return state.hasEnded
            }
            if mustClose { close() }
        }
        return try body(part)
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
