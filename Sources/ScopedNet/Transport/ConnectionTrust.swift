import CCurl

/// The verification of the servers that one transfer connects to.
struct ConnectionTrust {
    /// The verification of the connection that is made for the transfer; nil once it stands, and for a pooled one.
    private var check: TrustCheck?
    /// That of the connection whose end is the end of the body; nil for all other bodies.
    private var closing: TrustCheck?

    init() {}

    /// The reason why the handshake was ended.
    var failure: SecurityPolicy.TrustFailure? { check?.failure }

    /// True if the connection that ends the body has not said that it would end (close_notify).
    var endsUnannounced: Bool { closing.map { !$0.heardCloseNotify } ?? false }

    /// Has OpenSSL ask for a connection that is about to be made.
    mutating func begin(_ peers: [TrustCheck.Peer], in context: OpaquePointer, toleratesCut: Bool) -> CURLcode {
        guard !peers.isEmpty else { return CURLE_SSL_CONNECT_ERROR }
        let check = TrustCheck(peers: peers)
        guard TrustCallbacks.install(check, in: context, toleratesCut: toleratesCut) else { return CURLE_OUT_OF_MEMORY }
        self.check = check
        return CURLE_OK
    }

    /// Moves out what report-only mode has found.
    func takeReport() -> SecurityPolicy.TrustFailure? { check?.takeReport() }

    /// The connection stands. Moves out what report-only mode has found.
    mutating func connected() -> SecurityPolicy.TrustFailure? {
        defer { check = nil }
        return check?.takeReport()
    }

    /// A body begins that ends with its connection, or with nil one that does not.
    mutating func expectEnd(of session: OpaquePointer?) { closing = session.flatMap { TrustCallbacks.check(of: $0) } }

    /// Takes back what belongs to one transfer.
    mutating func end() {
        check = nil
        closing = nil
    }
}
