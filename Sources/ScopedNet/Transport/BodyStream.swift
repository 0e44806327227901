package import FoundationEssentials
import SystemSupport

/// A response body as it arrives, with real backpressure: at most `window` bytes are buffered, then the connection is
/// paused until the reader has caught up.
///
/// One reader only. Dropping the iterator, or leaving the loop, cancels the transfer.
@_spi(Transport) public final class BodyStream: CensusMember {
    package enum Acceptance { case accepted, pause }

    private struct State {
        var chunks: [Data] = []
        var next = 0
        var buffered = 0
        var end: Result<Void, NetworkError>?
        var isPaused = false
        /// Why the reader is gone.
        var abandoned: CancelReason?
        var isAbandoned: Bool { abandoned != nil }
        /// The reader left before it had all: whoever reads on gets an error, not the end of a whole body.
        var isCut = false
        /// The end of a whole body is told when `release` says so.
        var isHeld = false
        var isComplete = false
        var waiter: CheckedContinuation<Void, Never>?
        var onDrained: (@Sendable () -> Void)?
        var onAbandoned: (@Sendable () -> Void)?
        var onLeft: (@Sendable (CancelReason) -> Void)?

        /// There may be more to come.
        var isTransferring: Bool { end == nil && !isComplete }

        /// `hasRest`: of the last piece that was taken, not all was given out.
        mutating func leave(_ reason: CancelReason, hasRest: Bool = false) {
            if abandoned == nil { abandoned = reason }
            if end == nil || next < chunks.count || hasRest { isCut = true }
        }
    }

    /// Bytes that may be buffered before the connection is paused. Default: 256 KiB.
    public let window: Int
    private let state: Lock<State>
    private let ticket = Census.ticket()

    package init(window: Int = 256 << 10, origin: CodeOrigin = CodeOrigin("a streamed body", 0)) {
        // A window without room would hold the body back for ever.
        self.window = max(1, window)
        state = Lock(State())
        LiveObjects.born(.bodyStream)
        if let ticket { ticket.watch(self, .bodyStream, origin: origin.description) }
    }

    deinit { LiveObjects.died(.bodyStream) }

    /// `drained` asks the transport to go on; `abandoned` asks it to stop. Both may be called on the reader's thread.
    package func connect(drained: @escaping @Sendable () -> Void, abandoned: @escaping @Sendable () -> Void) {
        let late = state.withLock { state -> Bool in
            if state.isTransferring { (state.onDrained, state.onAbandoned) = (drained, abandoned) }
            return state.isAbandoned
        }
        if late { abandoned() }
    }

    /// `left` is called when the reader leaves before the end of the body. It is dropped at that end.
    package func whenAbandoned(_ left: @escaping @Sendable (CancelReason) -> Void) {
        state.withLock { state in if state.isTransferring { state.onLeft = left } }
    }

    // MARK: Transport's side

    package func offer(_ bytes: UnsafeRawBufferPointer) -> Acceptance {
        let (accepted, waiter) = state.withLock { state -> (Acceptance, CheckedContinuation<Void, Never>?) in
            // The reader is gone: swallow until the cancel arrives.
            if state.isAbandoned { return (.accepted, nil) }
            guard state.buffered < window else {
                state.isPaused = true
                return (.pause, nil)
            }
            state.chunks.append(Data(bytes))
            state.buffered += bytes.count
            defer { state.waiter = nil }
            return (.accepted, state.waiter)
        }
        resume(waiter)
        return accepted
    }

    package func finish(_ error: NetworkError?) {
        let (waiter, callbacks) = state.withLock { state in
            defer { (state.onDrained, state.onAbandoned, state.onLeft) = (nil, nil, nil) }
            let callbacks = (state.onDrained, state.onAbandoned, state.onLeft)
            if error == nil, state.isHeld {
                state.isComplete = true
                let none: CheckedContinuation<Void, Never>? = nil
                return (none, callbacks)
            }
            if state.end == nil {
                // A reader that left knows why better than the transfer that was stopped for it.
                let error = error.map { error in
                    guard error.isCancelled, error.cancelReason == nil, let reason = state.abandoned else { return error }
                    return .cancelled(reason, runID: error.runID, phase: error.phase)
                }
                state.end = error.map { .failure($0) } ?? .success(())
            }
            defer { state.waiter = nil }
            return (state.waiter, callbacks)
        }
        _ = callbacks
        resume(waiter)
    }

    /// Its reader is not told that the body is whole before ``release(_:)``: interceptors may still find fault with it.
    package func hold() { state.withLock { if $0.end == nil { $0.isHeld = true } } }

    /// The judgement of a body that was held: nil where it stands.
    package func release(_ error: NetworkError?) {
        let isOver = state.withLock { state in
            state.isHeld = false
            return state.isComplete || error != nil
        }
        if isOver { finish(error) }
    }

    /// Resuming a task may run its executor's `enqueue`: not here, where the network thread may be calling.
    private func resume(_ waiter: CheckedContinuation<Void, Never>?) {
        guard let waiter else { return }
        DeliveryLane.resumption.enqueue(.work { waiter.resume() })
    }

    // MARK: Reader's side

    package func abandon(_ reason: CancelReason, hasRest: Bool = false) {
        let (abandoned, left, waiter, garbage) = state.withLock { state in
            state.leave(reason, hasRest: hasRest)
            let garbage = (state.chunks, state.onDrained)
            state.chunks = []
            state.next = 0
            state.buffered = 0
            defer {
                state.onAbandoned = nil
                state.onDrained = nil
                state.onLeft = nil
                state.waiter = nil
            }
            return (state.onAbandoned, state.onLeft, state.waiter, garbage)
        }
        _ = garbage
        // The run first: it then ends as cancelled, whatever the transfer says.
        left?(reason)
        abandoned?()
        // Of a body that goes on for others nothing else would wake it.
        resume(waiter)
    }

    /// Ends the body here, also where it was complete: what has not been read is gone.
    package func cut(_ error: NetworkError, _ reason: CancelReason) {
        abandon(reason)
        finish(error)
        state.withLock { $0.end = .failure(error) }
    }

    /// The rest is taken and dropped: there is no reader any more, and no cancel.
    package func discard() {
        let (drained, garbage) = state.withLock { state in
            state.leave(.requestReleased)
            let garbage = (state.chunks, state.onLeft, state.onAbandoned)
            (state.chunks, state.next, state.buffered) = ([], 0, 0)
            (state.onLeft, state.onAbandoned) = (nil, nil)
            return (state.onDrained, garbage)
        }
        _ = garbage
        drained?()
    }

    private enum Taken { case chunk(Data, wake: (@Sendable () -> Void)?), end(NetworkError?), wait }

    private func take() -> Taken {
        state.withLock { state in
            guard state.next < state.chunks.count else {
                if case .failure(let error) = state.end { return .end(error) }
                if state.isCut, let reason = state.abandoned { return .end(.cancelled(reason, runID: 0, phase: .receiving)) }
                return state.end == nil ? .wait : .end(nil)
            }
            let chunk = state.chunks[state.next]
            state.chunks[state.next] = Data()
            state.next += 1
            state.chunks.dropTaken(&state.next)
            state.buffered -= chunk.count
            // Half empty before the connection goes on: fewer pauses for the same memory.
            guard state.isPaused, state.buffered <= window / 2 else { return .chunk(chunk, wake: nil) }
            state.isPaused = false
            return .chunk(chunk, wake: state.onDrained)
        }
    }

    private enum WaitAnswer { case ready, waiting, taken }

    /// The next piece; nil at the end of a complete body.
    package func next() async throws(NetworkError) -> Data? {
        while true {
            switch take() {
            case .chunk(let data, let wake):
                wake?()
                return data
            case .end(let error):
                if let error { throw error }
                return nil
            case .wait:
                var isTaken = false
                let cancellation = TaskCancellation()
                await withTaskCancellationHandler {
                    await withCheckedContinuation { continuation in
                        let answer = state.withLock { state -> WaitAnswer in
                            if state.next < state.chunks.count || state.end != nil || state.isAbandoned { return .ready }
                            guard state.waiter == nil else { return .taken }
                            state.waiter = continuation
                            return .waiting
                        }
                        isTaken = answer == .taken
                        if answer != .waiting { continuation.resume() }
                    }
                } onCancel: {
                    abandon(cancellation.reason)
                }
                // Whoever waits first would never be woken again.
                if isTaken { throw NetworkError(.invalidOption, phase: .receiving, message: "somebody else reads this body already") }
                if Task.isCancelled, state.withLock({ $0.end == nil }) {
                    finish(.cancelled(cancellation.reason, runID: 0, phase: .receiving))
                }
            }
        }
    }

    /// The error of a reader that is not to get the rest of what it has: its task or its run was cancelled.
    package func cancellation(of run: UInt64) -> NetworkError? {
        if Task.isCancelled {
            let reason = TaskCancellation().reason
            abandon(reason)
            return .cancelled(reason, runID: run, phase: .receiving)
        }
        return state.withLock { state in
            guard case .failure(let error) = state.end, error.isCancelled else { return nil }
            return error
        }
    }

    /// The reader is gone.
    package var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    package var censusState: CensusState {
        state.withLock { state in
            var answer = CensusState()
            answer.isOver = state.end != nil || state.isAbandoned
            answer.text = "\(state.buffered) bytes wait for the reader"
            return answer
        }
    }

    /// Bytes held right now; tests use it to show the bound.
    package var bufferedBytes: Int { state.withLock { $0.buffered } }
}

extension [Data] {
    /// Forgets the pieces before `next`, which were taken: a queue that is never quite empty would keep a place for each of them.
    mutating func dropTaken(_ next: inout Int) {
        if next == count { removeAll(keepingCapacity: true) } else if next >= 64, next > count / 2 { removeFirst(next) } else { return }
        next = 0
    }
}
