#if TestServerTLS
internal import NIOCore
internal import NIOHTTP2

extension ConnectionSetup {
    func speakHTTP2(on channel: any Channel, _ connection: ConnectionHandler) throws {
        var connectionConfiguration = NIOHTTP2Handler.ConnectionConfiguration()
        connectionConfiguration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: maxConcurrentStreams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 64 * 1024),
        ]
        // The script may lie about lengths and send fields that no server should.
        connectionConfiguration.headerBlockValidation = .disabled
        connectionConfiguration.contentLengthValidation = .disabled
        let bound = NIOLoopBound(connection, eventLoop: channel.eventLoop)
        _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
            mode: .server, connectionConfiguration: connectionConfiguration, streamConfiguration: .init()
        ) { [core] stream in
            stream.eventLoop.makeCompletedFuture {
                let operations = stream.pipeline.syncOperations
                try operations.addHandler(HTTP2FramePayloadToHTTP1ServerCodec())
                try operations.addHandler(HTTP2StreamHandler(core: core, connection: bound.value))
            }
        }
        try channel.pipeline.syncOperations.addHandler(HTTP2ConnectionErrorHandler())
    }
}

/// Closes an HTTP/2 connection that breaks the protocol.
private final class HTTP2ConnectionErrorHandler: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Errors of one stream are shown to its own channel, and here again: they are no reason to close.
        if !(error is NIOHTTP2Errors.StreamClosed) && !(error is NIOHTTP2Errors.StreamError) {
            context.close(promise: nil)
        }
    }
}
#endif
