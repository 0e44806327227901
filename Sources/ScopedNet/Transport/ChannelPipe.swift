/// The bytes of a channel on their way, in both directions.
@_spi(Transport) public final class ChannelPipe: Sendable {
    /// The bytes that have come.
    public let input: BodyStream
    /// The bytes that are to go.
    public let output: ChannelOutput

    package init(window: Int, origin: CodeOrigin) {
        input = BodyStream(window: window, origin: origin)
        output = ChannelOutput(window: window)
    }

    /// The channel was cancelled: what has come is gone, too.
    package func cancel(_ reason: CancelReason) {
        // First: with its reader the transfer ends, for no reason that it knows.
        output.finish(.cancelled(reason, runID: 0, phase: .sending))
        input.cut(.cancelled(reason, runID: 0, phase: .receiving), reason)
    }

    /// The connection has ended: what has come can still be read, and nothing more is sent. Nil where it was closed by either side.
    package func finish(_ error: NetworkError?) {
        input.finish(error)
        output.finish(error)
    }
}
