public import FoundationEssentials

/// Which servers are believed, host by host: by the system, or by certificates and keys known beforehand (*pins*).
///
/// A policy adds to ``TLSConfiguration`` and takes nothing away: chain and host name are verified whatever is pinned, and the switches that
/// turn this off there do not turn off pins. A host with pins is reached over `https` only: a request or redirect to it over `http` fails with
/// ``NetworkError/Code/insecureConnection`` before anything is sent.
///
/// It belongs to ``ConnectionSettings``: sessions with different policies never share a connection. See <doc:Security>.
public struct SecurityPolicy: Sendable, Hashable {
    /// What makes the server of a host the right one.
    public enum Trust: Sendable, Hashable {
        /// A valid chain to an authority of ``TLSConfiguration/certificateAuthority``, made for this host.
        case system
        /// These certificates are the only anchors: the chain must lead to one of them, be it root, intermediate or the server's own, and be
        /// valid up to there, also with ``TLSConfiguration/dangerouslyAcceptsAnyCertificate``.
        case certificates([SecurityPolicy.PinnedCertificate])
        /// As `system`, and at least one certificate of the verified chain has one of these keys (RFC 7469 section 2.6). Have a backup among
        /// them: the hash of a key that is in use nowhere yet.
        case publicKeys([SecurityPolicy.PublicKeyPin], mode: Mode = .enforce)
    }

    /// What follows when no pinned key is found.
    public enum Mode: Sendable, Hashable {
        /// The request fails with ``NetworkError/Code/pinMismatch``.
        case enforce
        /// The request goes on as if nothing were pinned; observers hear of it as ``RequestEvent/Kind/trustReported(_:)``.
        case reportOnly
    }

    /// By host: a name (`api.example.com`), an address (`192.0.2.1`, `2001:db8::1`), or `*.example.com` for every name below
    /// `example.com` at any depth, not for that name itself. The closest entry counts: the name itself, then the longest domain. Names are
    /// ASCII (`xn--…`), upper and lower case are the same. Default: none.
    public var hosts: [String: Trust] = [:]
    /// For all other hosts, a proxy that speaks TLS among them. Default: ``Trust/system``.
    public var otherHosts: Trust

    /// - Parameter otherHosts: for all hosts that have no entry in ``hosts``.
    public init(_ otherHosts: Trust = .system) { self.otherHosts = otherHosts }
}

extension SecurityPolicy {
    /// Nothing is asked for beyond what ``TLSConfiguration`` says.
    var isDefault: Bool { hosts.isEmpty && otherHosts == .system }
}

extension SecurityPolicy.Trust {
    /// Without TLS there would be nothing to compare the pins with.
    var demandsTLS: Bool {
        switch self {
        case .system, .publicKeys(_, mode: .reportOnly): false
        case .certificates, .publicKeys(_, mode: .enforce): true
        }
    }
}

extension SecurityPolicy {
    /// The place that a pinned certificate comes from. Read once, when the session's first request starts.
    ///
    /// A certificate that cannot be read, is none or is damaged makes every request of the session fail with
    /// ``NetworkError/Code/invalidOption`` before anything is sent.
    public enum PinnedCertificate: Sendable, Hashable {
        /// One certificate in DER (RFC 5280).
        case der(Data)
        /// One or more certificates in PEM (RFC 7468); text around them is ignored.
        case pem(String)
        /// A file with either of the two, 4 MiB at most.
        case file(String)
        /// Every `.cer`, `.crt`, `.der` and `.pem` in a directory; there must be one.
        case directory(String)
    }
}
