/// A ``SecurityPolicy`` with all its pins read: what is asked of each host. Made once for each transport, on a thread that may wait
/// for the files.
struct TrustRules {
    /// What is asked of one host.
    struct Entry {
        let rule: TrustDecision.Rule
        /// Only for pinned certificates.
        let anchors: TrustAnchors?
    }

    private let hosts: HostPatterns<Entry>
    private let otherHosts: Entry

    /// Nothing is pinned.
    init() {
        otherHosts = Entry(rule: .system, anchors: nil)
        hosts = HostPatterns()
    }

    /// - Throws: ``NetworkError`` with code `invalidOption` for what is no pin and no host. Never is less asked of a server instead.
    init(_ policy: SecurityPolicy) throws(NetworkError) {
        guard Capabilities.current.sharesOpenSSL else {
            let library = Capabilities.current.tlsLibrary
            throw .invalidPin("it needs a libcurl with this system's OpenSSL, and this one has \(library.isEmpty ? "no TLS" : library)")
        }
        otherHosts = try Self.entry(policy.otherHosts)
        var entries: [String: Entry] = [:]
        for (host, trust) in policy.hosts { entries[host] = try Self.entry(trust) }
        hosts = try SecuredHosts.table(entries)
    }

    func entry(for host: String) -> Entry { hosts.closest(to: host) ?? otherHosts }

    private static func entry(_ trust: SecurityPolicy.Trust) throws(NetworkError) -> Entry {
        switch trust {
        case .system: return Entry(rule: .system, anchors: nil)
        case .certificates(let sources):
            var pins: Set<[UInt8]> = []
            for source in sources { pins.formUnion(try PinFile.certificates(source)) }
            guard !pins.isEmpty else { throw .invalidPin("a host has no pinned certificate") }
            return Entry(rule: .certificates(pins), anchors: try TrustAnchors(pins))
        case .publicKeys(let sources, let mode):
            var pins: Set<[UInt8]> = []
            for source in sources { pins.formUnion(try digests(source)) }
            guard !pins.isEmpty else { throw .invalidPin("a host has no pinned key") }
            return Entry(rule: .publicKeys(pins, mode), anchors: nil)
        }
    }

    private static func digests(_ source: SecurityPolicy.PublicKeyPin) throws(NetworkError) -> [[UInt8]] {
        switch source {
        case .sha256(let text):
            guard let pin = PinText(text) else {
                throw .invalidPin("'\(text.prefix(100))' is no pin: write sha256/ and 44 characters of base64")
            }
            return [pin.digest]
        case .publicKey(let der):
            guard CertificateFields.isPublicKey(Array(der)) else { throw .invalidPin("a pinned key is no SubjectPublicKeyInfo in DER") }
            return [MessageDigest.sha256.hash(Array(der))]
        case .certificate(let certificate):
            var found: [[UInt8]] = []
            for der in try PinFile.certificates(certificate) {
                guard let fields = CertificateFields(der) else { throw .invalidPin("the certificate of a pinned key cannot be read") }
                found.append(MessageDigest.sha256.hash(fields.publicKey))
            }
            return found
        }
    }
}
