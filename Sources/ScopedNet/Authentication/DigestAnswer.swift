/// The answer to a ``DigestChallenge``: the value of `Authorization` or `Proxy-Authorization` (RFC 7616 section 3.4). (pure)
package struct DigestAnswer: Sendable {
    package var user: String
    package var password: String

    package init(user: String, password: String) {
        self.user = user
        self.password = password
    }

    /// One request.
    package struct Exchange: Sendable {
        package var method: String
        /// The request target, exactly as it is sent.
        package var target: String
        /// Random, and new for each request.
        package var clientNonce: String
        /// How often this nonce of the server's was used, this time included: from 1.
        package var count: UInt32
        /// Needed for `auth-int` alone.
        package var body: [UInt8]?

        package init(method: String, target: String, clientNonce: String, count: UInt32, body: [UInt8]? = nil) {
            self.method = method
            self.target = target
            self.clientNonce = clientNonce
            self.count = count
            self.body = body
        }
    }

    /// - Throws: `invalidHeader` for control characters in the user's name, `bodyNotReplayable` where the server wants the body in the hash and
    ///   it is not there.
    package func fieldValue(for challenge: DigestChallenge, _ exchange: Exchange) throws(NetworkError) -> String {
        guard !user.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw NetworkError(.invalidHeader, phase: .preparing, message: "the user's name holds a control character")
        }
        let digest = challenge.algorithm.digest
        var fields = [userField(challenge), "realm=\(FieldText.quoted(challenge.realm))", "uri=\(FieldText.quoted(exchange.target))"]
        if let name = challenge.algorithm.name { fields.append("algorithm=\(name)") }
        fields.append("nonce=\(FieldText.quoted(challenge.nonce))")
        let response = try response(challenge, exchange)
        if let protection = challenge.protection {
            fields += ["nc=\(Self.count(exchange.count))", "cnonce=\(FieldText.quoted(exchange.clientNonce))"]
            fields.append("qop=\(protection.rawValue)")
        } else if challenge.algorithm.isSession {
            fields.append("cnonce=\(FieldText.quoted(exchange.clientNonce))")
        }
        fields.append("response=\"\(digest.hexadecimal(Array(response.utf8)))\"")
        if let opaque = challenge.opaque { fields.append("opaque=\(FieldText.quoted(opaque))") }
        if challenge.hashesUser { fields.append("userhash=true") }
        return "Digest " + fields.joined(separator: ", ")
    }

    /// What is hashed (sections 3.4.1 to 3.4.3).
    private func response(_ challenge: DigestChallenge, _ exchange: Exchange) throws(NetworkError) -> String {
        func hash(_ text: String) -> String { challenge.algorithm.digest.hexadecimal(Array(text.utf8)) }
        var secret = hash("\(user):\(challenge.realm):\(password)")
        if challenge.algorithm.isSession { secret = hash("\(secret):\(challenge.nonce):\(exchange.clientNonce)") }
        var action = "\(exchange.method):\(exchange.target)"
        if challenge.protection == .authInt {
            guard let body = exchange.body else {
                throw NetworkError(.bodyNotReplayable, phase: .preparing, message: "the server wants a hash of the body, which is a stream")
            }
            action += ":" + challenge.algorithm.digest.hexadecimal(body)
        }
        guard let protection = challenge.protection else { return "\(secret):\(challenge.nonce):\(hash(action))" }
        let count = Self.count(exchange.count)
        return "\(secret):\(challenge.nonce):\(count):\(exchange.clientNonce):\(protection.rawValue):\(hash(action))"
    }

    /// A name that quotes cannot carry goes in the form of RFC 8187.
    private func userField(_ challenge: DigestChallenge) -> String {
        if challenge.hashesUser {
            return "username=\"\(challenge.algorithm.digest.hexadecimal(Array("\(user):\(challenge.realm)".utf8)))\""
        }
        guard user.utf8.allSatisfy({ $0 < 0x80 }) else { return "username*=UTF-8''\(Self.extended(user))" }
        return "username=\(FieldText.quoted(user))"
    }

    /// RFC 8187 section 3.2.1: letters, digits and `!#$&+-.^_`|~` as they are.
    private static func extended(_ text: String) -> String {
        let escaped = text.utf8.map { byte in
            let isKept = "!#$&+-.^_`|~".utf8.contains(byte)
            return isKept
                ? String(Unicode.Scalar(byte))
                : PercentEncoding.escaped(CollectionOfOne(byte)).replacing("/", with: "%2F")
                    .replacing("?", with: "%3F")
        }
        return escaped.joined()
    }

    private static func count(_ count: UInt32) -> String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
