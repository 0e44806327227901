#if TestServer
internal import NIOCore

/// Puts a response on the wire in the words of one HTTP version. Event loop only.
///
/// Writes are held until ``flush(_:)``, which reports what has left: a byte counts when the kernel has it.
protocol ResponseWriter: AnyObject {
    /// The largest piece of payload to write at once; the counters move in steps of this size.
    var pieceSize: Int { get }

    /// Tells the client, where HTTP lets it be told in advance, that the connection ends after this response.
    func announceClose()

    func writeInterimHead(_ head: ResponseHead)
    func writeHead(_ head: ResponseHead, isChunked: Bool)
    /// Begins a head that is to be written in pieces; nil where it cannot be.
    func beginHead(_ head: ResponseHead, isChunked: Bool) -> [UInt8]?
    func writeHeadPiece(_ bytes: some Collection<UInt8>)
    func writeBody(_ bytes: ByteBuffer)
    func writeFinish(_ trailers: HeaderList)
    func flush(_ done: @escaping (Result<WrittenBytes, any Error>) -> Void)

    /// Leaves what remains of the request body in the socket.
    func stopReading()

    /// Ends the response before its time.
    func cut(_ cut: ResponseStep.Cut, errorCode: Int)
}

/// What a flush has put on the wire.
struct WrittenBytes: Sendable {
    var total = 0
    var body = 0
}

/// The writes between two flushes. The last is held back, because its completion stands for all of them. Event loop only.
///
/// A class, as a completion can come while the flush is being made and write more: no access may span that call.
final class HeldWrites<Message: Sendable> {
    private var last: Message?
    private var held = WrittenBytes()

    func append(_ message: Message, total: Int, body: Int = 0, in context: ChannelHandlerContext) {
        let previous = last
        last = message
        held.total += total
        held.body += body
        if let previous { context.channel.write(previous, promise: nil) }
    }

    func flush(in context: ChannelHandlerContext, _ done: @escaping (Result<WrittenBytes, any Error>) -> Void) {
        guard let message = last else {
            done(.success(WrittenBytes()))
            return
        }
        let written = held
        last = nil
        held = WrittenBytes()
        let promise = context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in done(result.map { written }) }
        context.channel.writeAndFlush(message, promise: promise)
    }
}
#endif
