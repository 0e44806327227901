import CTLS
import FoundationEssentials

/// The verification of one TLS connection: the servers it may lead to, and the result.
///
/// OpenSSL asks it in the middle of the handshake; what it has to answer is all here, so it takes no lock and calls nobody. It knows nothing
/// of the transfer that made the connection, which may be gone when a server asks for another handshake on it (RFC 5246 section 7.4.1.1).
final class TrustCheck {
    /// Who may be at the other end.
    struct Peer {
        /// No brackets, no dot at the end.
        let host: String
        let port: Int
        let entry: TrustRules.Entry
        let leniency: TrustDecision.Leniency

        init(host: String, port: Int, rules: TrustRules, leniency: TrustDecision.Leniency) {
            self.host = HostPatterns<Never>.bare(host)
            self.port = port
            self.entry = rules.entry(for: host)
            self.leniency = leniency
        }
    }

    /// The server, or a proxy that speaks TLS; both where the connection to the one leads through the other.
    private let peers: [Peer]
    /// What ends the handshake.
    private(set) var failure: SecurityPolicy.TrustFailure?
    /// What report-only mode found.
    private(set) var report: SecurityPolicy.TrustFailure?
    /// The peer said that it would send no more (close_notify, RFC 8446 section 6.1).
    private(set) var heardCloseNotify = false

    init(peers: [Peer]) {
        self.peers = peers
        LiveObjects.born(.trustCheck)
    }

    deinit { LiveObjects.died(.trustCheck) }

    /// Whether a rejection must end the handshake even though ``TLSConfiguration/dangerouslyAcceptsAnyCertificate`` is set.
    var hasPins: Bool { peers.contains { $0.entry.rule != .system } }

    func noteCloseNotify() { heardCloseNotify = true }

    func takeReport() -> SecurityPolicy.TrustFailure? {
        defer { report = nil }
        return report
    }

    /// - Parameter verification: an X509_STORE_CTX with what the server sent, ready for X509_verify_cert(3).
    /// - Returns: whether the handshake goes on.
    func verify(_ verification: OpaquePointer) -> Bool {
        guard let (peer, isCertain) = peer(named: stls_server_name(verification).map { String(cString: $0) }) else {
            failure = unknownPeer(verification)
            X509_STORE_CTX_set_error(verification, X509_V_ERR_APPLICATION_VERIFICATION)
            return false
        }
        peer.entry.anchors?.use(in: verification)
        let isVerified = X509_verify_cert(verification) == 1
        var code = X509_STORE_CTX_get_error(verification)
        if isVerified { code = X509_V_OK } else if code == X509_V_OK { code = X509_V_ERR_UNSPECIFIED }
        let certificate = X509_STORE_CTX_get0_cert(verification)
        let matchesHost = (isCertain ? [peer] : peers).contains { Self.matches(certificate, $0) }
        // libcurl knows which of the two it is, and asks the one for what the other may do without.
        let leniency = isCertain ? peer.leniency : peers.reduce(peer.leniency) { $0.or($1.leniency) }
        // Copied only where somebody looks at it.
        let needsChain = peer.entry.rule != .system
        var evidence = TrustDecision.Evidence(
            verifyCode: code, matchesHost: matchesHost, chain: needsChain ? Self.chain(verification, isVerified: isVerified) : [])
        let decision = TrustDecision.decide(peer.entry.rule, leniency, evidence)
        if decision == .accept {
            if isCertain { X509_STORE_CTX_set_error(verification, X509_V_OK) }
            return true
        }
        if !needsChain { evidence.chain = Self.chain(verification, isVerified: isVerified) }
        return conclude(decision, peer, evidence, verification)
    }

    private func conclude(
        _ decision: TrustDecision, _ peer: Peer, _ evidence: TrustDecision.Evidence, _ verification: OpaquePointer
    ) -> Bool {
        switch decision {
        case .accept: return true
        case .report(let reason):
            report = Self.failure(peer, reason, evidence, isReportOnly: true)
            X509_STORE_CTX_set_error(verification, X509_V_OK)
            return true
        case .reject(let reason):
            failure = Self.failure(peer, reason, evidence)
            guard evidence.isVerified else { return false }
            let code = reason == .wrongHost ? X509_V_ERR_HOSTNAME_MISMATCH : X509_V_ERR_APPLICATION_VERIFICATION
            X509_STORE_CTX_set_error(verification, code)
            return false
        }
    }

    // MARK: The peer

    /// libcurl asks by the same callback for a proxy and for the server behind it; the name in the handshake tells them apart.
    ///
    /// - Returns: nil where pins are asked for of one of two that cannot be told apart; without pins either of them may be it.
    private func peer(named name: String?) -> (Peer, isCertain: Bool)? {
        guard peers.count > 1 else { return peers.first.map { ($0, true) } }
        // Of equal names the stricter one, which is the proxy's.
        if let name { return peers.last { $0.host == HostPatterns<Never>.normalized(name) }.map { ($0, true) } }
        // No name is sent for an address (RFC 6066 section 3).
        let addresses = peers.filter { IPLiteral($0.host) != nil }
        if addresses.count == 1 { return (addresses[0], true) }
        guard hasPins else { return peers.last.map { ($0, false) } }
        guard let first = addresses.first, addresses.allSatisfy({ $0.host == first.host }) else { return nil }
        return (first, true)
    }

    private func unknownPeer(_ verification: OpaquePointer) -> SecurityPolicy.TrustFailure {
        SecurityPolicy.TrustFailure(
            host: peers.first?.host ?? "", port: peers.first?.port ?? 0, reason: .untrusted, isReportOnly: false,
            verifyCode: X509_V_ERR_APPLICATION_VERIFICATION,
            verifyText: "it cannot be told whether the proxy answers or the server behind it",
            chain: Self.chain(verification, isVerified: false))
    }

    /// RFC 9525, by OpenSSL (X509_check_host(3)): the names are those of the subjectAltName.
    ///
    /// Left alone, OpenSSL and libcurl take the common name of the subject where there is none. libcurl compares after the handshake as well.
    private static func matches(_ certificate: OpaquePointer?, _ peer: Peer) -> Bool {
        guard let certificate else { return false }
        let host = String(peer.host.prefix { $0 != "%" })
        let isAddress = IPLiteral(peer.host) != nil
        if isAddress, X509_check_ip_asc(certificate, host, 0) == 1 { return true }
        // OpenSSL would take it beside a list of addresses; libcurl does not.
        let takesSubject = peer.leniency.acceptsCommonName && X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) < 0
        guard !isAddress || takesSubject else { return false }
        let flags = STLS_NO_PARTIAL_WILDCARDS | (takesSubject ? 0 : STLS_NEVER_CHECK_SUBJECT)
        return X509_check_host(certificate, host, host.utf8.count, flags, nil) == 1
    }

    // MARK: The chain

    private static func failure(
        _ peer: Peer, _ reason: SecurityPolicy.TrustFailure.Reason, _ evidence: TrustDecision.Evidence, isReportOnly: Bool = false
    ) -> SecurityPolicy.TrustFailure {
        let text = evidence.isVerified ? "" : String(cString: X509_verify_cert_error_string(Int(evidence.verifyCode)))
        return SecurityPolicy.TrustFailure(
            host: peer.host, port: peer.port, reason: reason, isReportOnly: isReportOnly, verifyCode: evidence.verifyCode, verifyText: text,
            chain: evidence.chain)
    }

    /// What was built, where it was built to its end; else what the server sent.
    private static func chain(_ verification: OpaquePointer, isVerified: Bool) -> [SecurityPolicy.ServerCertificate] {
        let built = isVerified ? X509_STORE_CTX_get0_chain(verification) : nil
        var found = certificates(of: built)
        if found.isEmpty { found = certificates(of: X509_STORE_CTX_get0_untrusted(verification)) }
        return found
    }

    private static func certificates(of stack: OpaquePointer?) -> [SecurityPolicy.ServerCertificate] {
        guard let stack else { return [] }
        return (0..<stls_chain_count(stack)).compactMap { index in
            guard let certificate = stls_chain_at(stack, index) else { return nil }
            let count = i2d_X509(certificate, nil)
            guard count > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: Int(count))
            let written = bytes.withUnsafeMutableBufferPointer { buffer in
                var next = buffer.baseAddress
                return i2d_X509(certificate, &next)
            }
            return written == count ? SecurityPolicy.ServerCertificate(der: Data(bytes)) : nil
        }
    }
}
