#if TestServer
internal import NIOCore

/// One side of a tunnel. It reads only as fast as the other side writes. Event loop only, the same one on both sides.
final class RelayHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Each side keeps the other until either is gone.
    var partner: RelayHandler?

    private let relay: Relay
    private let isClientSide: Bool
    private var context: ChannelHandlerContext?
    private var hasHeldRead = false

    init(_ relay: Relay, isClientSide: Bool) {
        self.relay = relay
        self.isClientSide = isClientSide
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // The other side may have wanted to read before there was anyone to write to.
        partner?.readHeld()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        partner = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if isClientSide { relay.receivedFromClient(bytes.readableBytes) }
        partner?.write(bytes)
    }

    func read(context: ChannelHandlerContext) {
        if partner?.isWritable ?? true {
            context.read()
        } else {
            hasHeldRead = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { partner?.readHeld() }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        relay.end(relay.isStopping ? .serverStopped : isClientSide ? .clientClosed : .completed)
        let other = partner
        partner = nil
        other?.partner = nil
        other?.closeWhenWritten()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func write(_ bytes: ByteBuffer) {
        guard let context else { return }
        let count = bytes.readableBytes
        context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenSuccess { [relay, isClientSide] in
            if isClientSide { relay.sentToClient(count) }
        }
    }

    /// Before it is in its pipeline, the client's side takes nothing.
    private var isWritable: Bool { context?.channel.isWritable ?? false }

    private func readHeld() {
        guard hasHeldRead else { return }
        hasHeldRead = false
        context?.read()
    }

    /// A close throws away what is still to be written, so an empty write goes before it.
    private func closeWhenWritten() {
        guard let context else { return }
        context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }
}
#endif
