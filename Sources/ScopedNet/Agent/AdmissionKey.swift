/// What a request needs a slot for: a connection of its own to an origin, or a stream of one that speaks HTTP/2. (pure)
///
/// As long as nobody knows that the origin speaks HTTP/2 both are connections, and share one limit.
package struct AdmissionKey: Hashable, Sendable {
    package let origin: UInt32
    /// The request speaks HTTP/2 where the server does.
    package let sharesConnection: Bool

    package init(origin: UInt32, sharesConnection: Bool) {
        self.origin = origin
        self.sharesConnection = sharesConnection
    }

    var sibling: AdmissionKey { AdmissionKey(origin: origin, sharesConnection: !sharesConnection) }
}

extension TransferOptions {
    /// A request with these options may have its connection together with others.
    func sharesConnection(to url: RequestURL) -> Bool {
        guard !usesFreshConnection else { return false }
        return switch httpVersion {
        case .http1: false
        case .http2PriorKnowledge: url.scheme != "http" || Capabilities.current.sharesPlainHTTP2
        case .automatic, .http2: url.scheme == "https"
        }
    }
}
