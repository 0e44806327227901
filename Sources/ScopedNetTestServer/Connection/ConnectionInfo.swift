#if TestServer
/// What is known of a connection when its first request comes.
struct ConnectionInfo: Sendable {
    var id: Int
    var remoteAddress: String
    var tls: RecordedRequest.TLSDetails?
}
#endif
