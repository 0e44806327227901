#if TestServer
internal import NIOCore

/// Reads an `AsyncStream` in a task and hands its chunks to the event loop, one at a time. Event loop only.
final class StreamFeed {
    private let stream: AsyncStream<[UInt8]>
    private let eventLoop: any EventLoop
    private var task: Task<Void, Never>?
    private var wake: (() -> Void)?
    private var chunk = ByteBuffer()
    /// Fulfilled when the chunk is used up: then the task reads on. So a slow client slows the stream down.
    private var chunkTaken: EventLoopPromise<Void>?
    private var isFinished = false

    init(_ stream: AsyncStream<[UInt8]>, eventLoop: any EventLoop) {
        self.stream = stream
        self.eventLoop = eventLoop
    }

    func start(wake: @escaping () -> Void) {
        self.wake = wake
        let feed = NIOLoopBound(self, eventLoop: eventLoop)
        task = Task { [stream, eventLoop] in
            for await bytes in stream {
                let taken = eventLoop.flatSubmit { feed.value.offer(bytes) }
                guard (try? await taken.get()) != nil else { return }
            }
            // A cancelled feed has a connection that is gone, and perhaps a loop that is too.
            if !Task.isCancelled { eventLoop.execute { feed.value.finish() } }
        }
    }

    func stop() {
        task?.cancel()
        wake = nil
        isFinished = true
        chunkTaken?.succeed()
        chunkTaken = nil
    }

    func next(atMost limit: Int) -> BodySource.Piece {
        guard chunk.readableBytes > 0 else { return isFinished ? .end : .later }
        let piece = chunk.readSlice(length: min(limit, chunk.readableBytes)) ?? ByteBuffer()
        if chunk.readableBytes == 0 {
            chunkTaken?.succeed()
            chunkTaken = nil
        }
        return .bytes(piece)
    }

    private func offer(_ bytes: [UInt8]) -> EventLoopFuture<Void> {
        guard !isFinished, !bytes.isEmpty else { return eventLoop.makeSucceededVoidFuture() }
        let taken = eventLoop.makePromise(of: Void.self)
        chunk = ByteBuffer(bytes: bytes)
        chunkTaken = taken
        wake?()
        return taken.futureResult
    }

    private func finish() {
        isFinished = true
        wake?()
    }
}
#endif
