public import FoundationEssentials
package import HTTPTypes
import Synchronization

/// What a request sends: bytes, a file, or a sequence made while sending.
public struct RequestBody: Sendable {
    package enum Content: Sendable {
        case data(Data)
        case file(path: String)
        case stream(UploadSource)
    }

    package let content: Content
    /// Sent where neither request nor session say a type.
    package var contentType: String?
    /// The boundary is part of the type: nobody else's will do, and the methods without a body will not either.
    package var isMultipart = false
    /// What was wrong with the value it was made of; the next start fails with it.
    package var failure: NetworkError?

    /// Bytes in memory. Can be sent again.
    public static func data(_ data: Data) -> RequestBody { RequestBody(content: .data(data)) }

    /// A file, read while it is sent. Can be sent again. A file that cannot be read is `fileUnreadable`; one that
    /// changes its length while it is sent is `bodyStreamFailed`.
    public static func file(_ path: String) -> RequestBody { RequestBody(content: .file(path: path)) }

    /// A sequence, pulled with backpressure: at most two pieces wait for the network.
    ///
    /// - Parameters:
    ///   - length: the exact number of bytes, if known; otherwise chunked framing is used on HTTP/1.1. A sequence that gives more
    ///     or fewer is `bodyStreamFailed`.
    ///   - isReplayable: whether iterating the sequence a second time gives the same bytes. When it does not, redirects that keep
    ///     the body, retries and a second start fail with `bodyNotReplayable`.
    public static func stream<Bytes: AsyncSequence & Sendable>(
        _ bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false
    ) -> RequestBody where Bytes.Element == Data {
        RequestBody(
            content: .stream(
                UploadSource(length: length, isReplayable: isReplayable) { stream in
                    for try await piece in bytes { try await stream.send(piece) }
                }))
    }

    /// - Throws: what was wrong with the value it was made of, and `invalidOption` for a multipart form with GET or HEAD, where a body has no
    ///   meaning (RFC 9110 section 9.3).
    package func check(for method: HTTPRequest.Method) throws(NetworkError) {
        if let failure { throw failure }
        guard isMultipart, ["GET", "HEAD"].contains(method.rawValue.uppercased()) else { return }
        throw NetworkError(.invalidOption, phase: .preparing, message: "a multipart form cannot be sent with \(method.rawValue)")
    }

    package var isReplayable: Bool {
        switch content {
        case .data, .file: true
        case .stream(let source): source.isReplayable
        }
    }

    /// Nil where it is not known before sending.
    package var length: Int64? {
        switch content {
        case .data(let data): Int64(data.count)
        case .file: nil
        case .stream(let source): source.length
        }
    }

    /// Streams and large bodies prefer HTTP/1.1 below libcurl 8.
    package var isLarge: Bool {
        switch content {
        case .data(let data): data.count > 1 << 20
        case .file, .stream: true
        }
    }
}

/// How a body sequence is turned into uploads: once, or as often as needed.
package final class UploadSource: Sendable {
    package let length: Int64?
    package let isReplayable: Bool
    private let isUsed = Atomic<Bool>(false)
    private let pump: @Sendable (UploadStream) async throws -> Void

    init(length: Int64?, isReplayable: Bool, pump: @escaping @Sendable (UploadStream) async throws -> Void) {
        self.length = length
        self.isReplayable = isReplayable
        self.pump = pump
    }

    /// - Throws: `bodyNotReplayable` at the second use of a one-shot sequence.
    package func open() throws(NetworkError) -> UploadStream {
        if isUsed.exchange(true, ordering: .relaxed), !isReplayable {
            throw NetworkError(
                .bodyNotReplayable, phase: .preparing,
                message: "the body sequence can be read once and has been; pass isReplayable: true or a new body")
        }
        return UploadStream(length: length, pump: pump)
    }
}

/// One upload in progress: a task pulls the caller's sequence, the network thread takes what is there.
package final class UploadStream: Sendable {
    private struct State {
        var pieces: [Data] = []
        var offset = 0
        var end: Result<Void, any Error>?
        var waiter: CheckedContinuation<Void, Never>?
        var isAbandoned = false
        var isStarved = false
        var task: Task<Void, Never>?
    }

    package enum Taken { case bytes(Int), end, notYet, failed(any Error) }

    let length: Int64?
    private let state = Lock(State())
    private let pump: @Sendable (UploadStream) async throws -> Void

    init(length: Int64?, pump: @escaping @Sendable (UploadStream) async throws -> Void) {
        self.length = length
        self.pump = pump
    }

    /// `ready` is called when bytes are there again after a `.notYet`.
    package func begin(ready: @escaping @Sendable () -> Void) {
        wakeReady.withLock { $0 = ready }
        let task = Task {
            let end: Result<Void, any Error>
            do {
                try await pump(self)
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

    private let wakeReady = Lock<(@Sendable () -> Void)?>(nil)

    func send(_ piece: Data) async throws {
        guard !piece.isEmpty else { return }
        try Task.checkCancellation()
        while true {
            let (accepted, wake) = state.withLock { state -> (Bool, Bool) in
                guard state.pieces.count < 2 else { return (false, false) }
                state.pieces.append(piece)
                defer { state.isStarved = false }
                return (true, state.isStarved)
            }
            if wake { wakeReady.withLock { $0 }?() }
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

    /// Network thread: copies what is there.
    package func take(into buffer: UnsafeMutableRawBufferPointer) -> Taken {
        let (taken, waiter) = state.withLock { state -> (Taken, CheckedContinuation<Void, Never>?) in
            guard let piece = state.pieces.first else {
                switch state.end {
                case .success: return (.end, nil)
                case .failure(let error): return (.failed(error), nil)
                case nil:
                    state.isStarved = true
                    return (.notYet, nil)
                }
            }
            let count = min(buffer.count, piece.count - state.offset)
            piece.copyBytes(to: buffer, from: piece.startIndex + state.offset..<piece.startIndex + state.offset + count)
            state.offset += count
            guard state.offset == piece.count else { return (.bytes(count), nil) }
            state.pieces.removeFirst()
            state.offset = 0
            defer { state.waiter = nil }
            return (.bytes(count), state.waiter)
        }
        if let waiter { DeliveryLane.resumption.enqueue(.work { waiter.resume() }) }
        return taken
    }

    /// The transfer is over; the caller's sequence is cancelled if it still runs.
    package func abandon() {
        let (task, waiter) = state.withLock { state in
            state.isAbandoned = true
            state.pieces = []
            defer { state.waiter = nil; state.task = nil }
            return (state.task, state.waiter)
        }
        wakeReady.withLock { $0 = nil }
        // Cancelling a task runs its cancellation handlers, which are the caller's code: not on the network thread.
        DeliveryLane.resumption.enqueue(
            .work {
                task?.cancel()
                waiter?.resume()
            })
    }
}
