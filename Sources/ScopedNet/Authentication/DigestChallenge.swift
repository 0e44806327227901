/// What a server that wants digest authentication says (RFC 7616 section 3.3). (pure)
package struct DigestChallenge: Sendable, Hashable {
    package enum Protection: String, Sendable, Hashable {
        case auth
        /// The body is part of the hash.
        case authInt = "auth-int"
    }

    package struct Algorithm: Sendable, Hashable {
        /// As the server wrote it; nil where it named none, which is MD5.
        package let name: String?
        package let digest: MessageDigest
        /// `-sess`: the hash of name and password is bound to the nonces.
        package let isSession: Bool

        init?(_ name: String?) {
            // Letters that are ASCII only in capitals are no spelling of these.
            guard name?.utf8.allSatisfy({ $0 < 0x80 }) ?? true else { return nil }
            let text = (name ?? "MD5").uppercased()
            isSession = text.hasSuffix("-SESS")
            switch isSession ? String(text.dropLast(5)) : text {
            case "MD5": digest = .md5
            case "SHA-256": digest = .sha256
            case "SHA-512-256": digest = .sha512Half
            default: return nil
            }
            self.name = name
        }
    }

    package let realm: String
    package private(set) var nonce: String
    package let opaque: String?
    package let algorithm: Algorithm
    /// Nil for a server that names none: the form of RFC 2069, without a count.
    package let protection: Protection?
    /// The name and password were right, but the nonce is used up.
    package let isStale: Bool
    /// The name goes out as a hash.
    package let hashesUser: Bool

    /// - Returns: nil for another scheme, without realm or nonce, for algorithms and protections nobody here knows, and where a control character
    ///   would come back in the answer.
    package init?(_ challenge: AuthenticationChallenge) {
        let parameters = challenge.parameters
        guard challenge.scheme == "digest", let realm = parameters["realm"], let nonce = parameters["nonce"],
            let algorithm = Algorithm(parameters["algorithm"]),
            !parameters.values.contains(where: { $0.utf8.contains { $0 < 0x20 || $0 == 0x7F } })
        else { return nil }
        self.realm = realm
        self.nonce = nonce
        self.algorithm = algorithm
        opaque = parameters["opaque"]
        isStale = parameters["stale"]?.lowercased() == "true"
        hashesUser = parameters["userhash"]?.lowercased() == "true"
        if let options = parameters["qop"] {
            let known = options.split(separator: ",").compactMap { option in
                Protection(rawValue: option.lowercased().filter { $0 != " " && $0 != "\t" })
            }
            // Without the body in the hash a stream can be sent without being read before.
            guard let protection = known.contains(.auth) ? .auth : known.first else { return nil }
            self.protection = protection
        } else {
            protection = nil
        }
    }

    /// The same with the nonce that the server wants next (section 3.5); nil for one that no answer can hold.
    package func followed(by nonce: String) -> DigestChallenge? {
        guard !nonce.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
        var next = self
        next.nonce = nonce
        return next
    }

    /// The first challenge that can be answered: servers put first what they like best (section 3.7).
    package static func first(in fields: [String]) -> DigestChallenge? {
        fields.lazy.flatMap { AuthenticationChallenge.parse($0) }.compactMap { DigestChallenge($0) }.first
    }
}
