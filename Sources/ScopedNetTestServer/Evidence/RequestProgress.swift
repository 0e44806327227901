#if TestServer
/// What is still moving after a request was recorded: counters, and how it ended.
struct RequestProgress: Sendable {
    var bytesSent = 0
    var bodyBytesSent = 0
    var bodyBytesReceived = 0
    var ending: ResponseEnding?
}
#endif
