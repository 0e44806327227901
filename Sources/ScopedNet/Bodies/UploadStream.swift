import FoundationEssentials
import SystemSupport

/// One upload in progress: a task pulls the caller's sequence, the network thread takes what is there.
package final class UploadStream: Sendable {
    private struct State {
        var pieces: [Data] = []
        /// Copied to the end. They may have deallocators of the caller's: neither the network thread nor a lock is the place for those, so the task
        /// that made them lets go of them with its next piece.
        var used: [Data] = []
        var offset = 0
        var taken: Int64 = 0
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, Never>?
        var isAbandoned = false
        var isStarved = false
        var task: Task<Void, Never>?
        /// Called when bytes are there again after a `.notYet`; gone once the transfer is over.
        var ready: (@Sendable () -> Void)?

        /// No piece is left, or none may leave.
        mutating func atEnd() -> Taken {
            switch end {
            case .success: return .end
            case .failure(let error): return .failed(error)
            case nil:
                isStarved = true
                return .notYet
            }
        }

        /// What the next piece, which reaches the declared length, has to wait for or fails with; nil when it is the last one.
        mutating func atLength(_ length: Int64) -> Taken? {
            let seen = pieces.reduce(taken - Int64(offset)) { $0 + Int64($1.count) }
            guard seen == length else { return .failed(LengthMismatch(declared: length, seen: seen)) }
            if case .success = end { return nil }
            let end = atEnd()
            return if case .notYet = end { .notEnded } else { end }
        }
    }

    package enum Taken {
        case bytes(Int), end, notYet, failed(any Error)
        /// All bytes are there, but for the end of the sequence.
        case notEnded
    }

    let length: Int64?
    private let state = Lock(State())
    private let pump: @Sendable (UploadSink) async throws -> Void

    init(length: Int64?, pump: @escaping @Sendable (UploadSink) async throws -> Void) {
        self.length = length
        self.pump = pump
    }

    /// `ready` is called when bytes are there again after a `.notYet`.
    package func begin(ready: @escaping @Sendable () -> Void) {
        state.withLock { $0.ready = ready }
        let task = Task {
            let end: Result<Void, any Error>
            do {
                try await pump(UploadSink { try await self.send($0) })
                end = .success(())
            } catch { end = .failure(error) }
            let wake = state.withLock { state in
                state.end = end
                defer { state.isStarved = false }
                return state.isStarved
            }
            if wake { ready() }
        }
        let late = state.withLock { state in
            state.task = task
            return state.isAbandoned
        }
        if late { task.cancel() }
    }

    func send(_ piece: Data) async throws {
        guard !piece.isEmpty else { return }
        try Task.checkCancellation()
        while true {
            let (accepted, wake, used) = state.withLock { state -> (Bool, (@Sendable () -> Void)?, [Data]) in
                guard state.pieces.count < 2 else { return (false, nil, []) }
                state.pieces.append(piece)
                defer {
                    state.isStarved = false
                    state.used = []
                }
                return (true, state.isStarved ? state.ready : nil, state.used)
            }
            wake?()
            withExtendedLifetime(used) {}
            if accepted { return }
            await withCheckedContinuation { continuation in
                let ready = state.withLock { state -> Bool in
                    if state.pieces.count < 2 || state.isAbandoned { return true }
                    state.waiter = continuation
                    return false
                }
                if ready { continuation.resume() }
            }
            if state.withLock({ $0.isAbandoned }) { throw CancellationError() }
        }
    }

    /// Network thread: copies what is there. What completes the declared length is held until the sequence has ended, because libcurl
    /// asks for nothing behind it.
    package func take(into buffer: UnsafeMutableRawBufferPointer) -> Taken {
        let (taken, waiter) = state.withLock { state -> (Taken, CheckedContinuation<Void, Never>?) in
            guard let piece = state.pieces.first else { return (state.atEnd(), nil) }
            let count = min(buffer.count, piece.count - state.offset)
            if let length, state.taken + Int64(count) >= length, let instead = state.atLength(length) { return (instead, nil) }
            state.taken += Int64(count)
            piece.copyBytes(to: buffer, from: piece.startIndex + state.offset..<piece.startIndex + state.offset + count)
            state.offset += count
            guard state.offset == piece.count else { return (.bytes(count), nil) }
            state.used.append(state.pieces.removeFirst())
            state.offset = 0
            defer { state.waiter = nil }
            return (.bytes(count), state.waiter)
        }
        if let waiter { DeliveryLane.resumption.enqueue(.work { waiter.resume() }) }
        return taken
    }

    /// The transfer is over; the caller's sequence is cancelled if it still runs.
    package func abandon() {
        let (task, waiter, releases) = state.withLock { state in
            state.isAbandoned = true
            state.ready = nil
            state.used += state.pieces
            state.pieces = []
            defer { state.waiter = nil; state.task = nil }
            return (state.task, state.waiter, !state.used.isEmpty)
        }
        if releases { releaseUsed() }
        // Cancelling a task runs its cancellation handlers, which are the caller's code: not on the network thread.
        DeliveryLane.resumption.enqueue(
            .work {
                task?.cancel()
                waiter?.resume()
            })
    }

    private func releaseUsed() {
        BlockingPool.shared.submit(.program) { [self] in
            let used = state.withLock { state in
                defer { state.used = [] }
                return state.used
            }
            withExtendedLifetime(used) {}
        }
    }
}
