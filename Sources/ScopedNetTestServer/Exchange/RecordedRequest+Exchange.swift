#if TestServer
internal import NIOHTTP1

extension RecordedRequest {
    init(
        _ head: HTTPRequestHead, streamID: Int?, connection: ConnectionInfo, body: [UInt8], trailers: HeaderList,
        receivedAt: ContinuousClock.Instant, progress: Watched<RequestProgress>
    ) {
        let target = RequestTarget(head.uri)
        self.method = head.method.rawValue
        self.target = head.uri
        self.path = target.path
        self.query = target.query
        self.httpVersion = streamID != nil ? "2" : "\(head.version.major).\(head.version.minor)"
        self.headers = HeaderList(head.headers)
        self.body = body
        self.trailers = trailers
        self.connectionID = connection.id
        self.remoteAddress = connection.remoteAddress
        self.streamID = streamID
        self.tls = connection.tls
        self.receivedAt = receivedAt
        self.progress = progress
    }
}
#endif
