#if TestServer
internal import CCrypto
internal import FoundationEssentials

/// What a client has to show before a path is answered; without it the answer is 401 and says how.
public struct Challenge: Sendable {
    /// How a digest is made (RFC 7616).
    public enum DigestAlgorithm: String, Sendable {
        /// MD5, which RFC 7616 keeps for old servers.
        case md5 = "MD5"
        /// SHA-256.
        case sha256 = "SHA-256"
    }

    private enum Scheme: Sendable {
        case basic(user: String, password: String)
        case digest(user: String, password: String, DigestAlgorithm, nonce: String)
        case bearer(token: String)
    }

    private let scheme: Scheme
    private let realm: String

    /// User and password, in the clear (RFC 7617).
    public static func basic(user: String, password: String, realm: String = "loopback") -> Challenge {
        Challenge(scheme: .basic(user: user, password: password), realm: realm)
    }

    /// A proof that the client knows the password, with `qop=auth`.
    public static func digest(
        user: String, password: String, algorithm: DigestAlgorithm = .sha256, realm: String = "loopback"
    ) -> Challenge {
        let nonce = (0..<4).map { _ in String(UInt32.random(in: .min ... .max), radix: 16) }.joined()
        return digest(user: user, password: password, algorithm: algorithm, realm: realm, nonce: nonce)
    }

    static func digest(
        user: String, password: String, algorithm: DigestAlgorithm = .sha256, realm: String = "loopback", nonce: String
    ) -> Challenge {
        Challenge(scheme: .digest(user: user, password: password, algorithm, nonce: nonce), realm: realm)
    }

    /// A token (RFC 6750).
    public static func bearer(token: String, realm: String = "loopback") -> Challenge {
        Challenge(scheme: .bearer(token: token), realm: realm)
    }

    /// 401 with `WWW-Authenticate`.
    var refusal: ScriptedResponse { .status(401).header("WWW-Authenticate", value) }

    /// The challenge itself.
    var value: String {
        switch scheme {
        case .basic: "Basic realm=\"\(realm)\", charset=\"UTF-8\""
        case .bearer: "Bearer realm=\"\(realm)\""
        case .digest(_, _, let algorithm, let nonce):
            "Digest realm=\"\(realm)\", qop=\"auth\", algorithm=\(algorithm.rawValue), nonce=\"\(nonce)\", opaque=\"loopback\""
        }
    }

    /// Whether an `Authorization` field opens the door.
    func accepts(_ authorization: String?, method: String, target: String) -> Bool {
        guard let authorization else { return false }
        switch scheme {
        case .basic(let user, let password):
            return authorization == "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
        case .bearer(let token): return authorization == "Bearer " + token
        case .digest(let user, let password, let algorithm, let nonce):
            guard let fields = DigestFields(authorization), fields["username"] == user, fields["nonce"] == nonce, fields["uri"] == target
            else { return false }
            func hash(_ text: String) -> String { algorithm.hash(text) }
            let secret = hash("\(user):\(realm):\(password)")
            let request = hash("\(method):\(target)")
            let parts = [secret, nonce, fields["nc"], fields["cnonce"], fields["qop"], request].map { $0 ?? "" }
            return fields["response"] == hash(parts.joined(separator: ":"))
        }
    }
}

extension Challenge.DigestAlgorithm {
    /// In hexadecimal digits; empty where libcrypto has no such digest, as MD5 in a FIPS mode. No client answers that.
    fileprivate func hash(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        let algorithm = self == .md5 ? EVP_md5() : EVP_sha256()
        guard EVP_Digest(bytes, bytes.count, &digest, &count, algorithm, nil) == 1 else { return "" }
        return digest.prefix(Int(count)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The fields of a `Digest` credential: names, and values with or without quotes (pure).
private struct DigestFields {
    private var fields: [String: String] = [:]

    init?(_ authorization: String) {
        guard authorization.hasPrefix("Digest ") else { return nil }
        var rest = authorization.dropFirst("Digest ".count)
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].drop { $0 == " " || $0 == "," }
            rest = rest[equals...].dropFirst()
            if rest.first == "\"" {
                rest = rest.dropFirst()
                let end = rest.firstIndex(of: "\"") ?? rest.endIndex
                fields[name.lowercased()] = String(rest[..<end])
                rest = rest[end...].dropFirst()
            } else {
                let end = rest.firstIndex(of: ",") ?? rest.endIndex
                fields[name.lowercased()] = String(rest[..<end].prefix { $0 != " " })
                rest = rest[end...]
            }
        }
    }

    subscript(name: String) -> String? { fields[name] }
}
#endif
