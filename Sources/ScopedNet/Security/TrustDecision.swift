/// Whether a server is the right one: what was found out about its chain in, the verdict out. (pure)
enum TrustDecision: Hashable {
    case accept
    case report(SecurityPolicy.TrustFailure.Reason)
    case reject(SecurityPolicy.TrustFailure.Reason)

    /// What is asked of a host, with all pins read.
    enum Rule: Hashable, Sendable {
        case system
        /// Certificates in DER.
        case certificates(Set<[UInt8]>)
        /// SHA-256 of `SubjectPublicKeyInfo`.
        case publicKeys(Set<[UInt8]>, SecurityPolicy.Mode)
    }

    /// The switches of ``TLSConfiguration``.
    struct Leniency: Hashable, Sendable {
        var acceptsAnyCertificate = false
        var acceptsAnyHostName = false
        var acceptsCommonName = false

        /// That of two peers that cannot be told apart: what either of them may be.
        func or(_ other: Leniency) -> Leniency {
            Leniency(
                acceptsAnyCertificate: acceptsAnyCertificate || other.acceptsAnyCertificate,
                acceptsAnyHostName: acceptsAnyHostName || other.acceptsAnyHostName,
                acceptsCommonName: acceptsCommonName || other.acceptsCommonName)
        }
    }

    /// What was found out about a chain.
    struct Evidence: Hashable {
        /// X509_V_OK or X509_V_ERR_*: against the pins where those are the anchors, against the authority's otherwise.
        var verifyCode: Int32
        /// The server's own certificate is for this host.
        var matchesHost: Bool
        /// The server's own certificate first; the verified chain where `verifyCode` is 0.
        var chain: [SecurityPolicy.ServerCertificate]

        var isVerified: Bool { verifyCode == 0 }
    }

    static func decide(_ rule: Rule, _ leniency: Leniency, _ evidence: Evidence) -> TrustDecision {
        switch rule {
        case .system: return basic(leniency, evidence)
        case .certificates(let pins):
            // Not with any switch: of a chain that leads to no pin nothing is known.
            guard evidence.isVerified else { return .reject(pinnedReason(evidence.verifyCode)) }
            guard evidence.chain.contains(where: { pins.contains(Array($0.der)) }) else { return .reject(.pinMismatch) }
            return evidence.matchesHost || leniency.acceptsAnyHostName ? .accept : .reject(.wrongHost)
        case .publicKeys(let pins, .enforce):
            let verdict = basic(leniency, evidence)
            return verdict == .accept && !holds(pins, evidence) ? .reject(.pinMismatch) : verdict
        case .publicKeys(let pins, .reportOnly):
            let verdict = basic(leniency, evidence)
            return verdict == .accept && !holds(pins, evidence) ? .report(.pinMismatch) : verdict
        }
    }

    private static func basic(_ leniency: Leniency, _ evidence: Evidence) -> TrustDecision {
        guard evidence.isVerified || leniency.acceptsAnyCertificate else { return .reject(reason(evidence.verifyCode)) }
        return evidence.matchesHost || leniency.acceptsAnyHostName ? .accept : .reject(.wrongHost)
    }

    /// Of a chain that was not verified only the first key counts, which the handshake has proven: the certificates behind it are public, and
    /// anybody can send them along.
    private static func holds(_ pins: Set<[UInt8]>, _ evidence: Evidence) -> Bool {
        let proven = evidence.isVerified ? evidence.chain[...] : evidence.chain.prefix(1)
        return proven.contains { $0.publicKeyDigest.map(pins.contains) ?? false }
    }

    /// X509_V_ERR_* of openssl/x509_vfy.h.
    static func reason(_ code: Int32) -> SecurityPolicy.TrustFailure.Reason {
        switch code {
        case 9, 10: .expired
        case 62, 64: .wrongHost
        default: .untrusted
        }
    }

    /// Where the pins are the anchors, an anchor that is missing (2, 18 to 21, 27) is a pin that is missing.
    private static func pinnedReason(_ code: Int32) -> SecurityPolicy.TrustFailure.Reason {
        switch code {
        case 2, 18...21, 27: .pinMismatch
        default: reason(code)
        }
    }
}
