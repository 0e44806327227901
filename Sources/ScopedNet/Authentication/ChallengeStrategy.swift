/// Which of a response's challenges is answered, and by which credential. (pure)
package enum ChallengeStrategy {
    package enum Scheme: String, Sendable, Hashable {
        case digest = "Digest"
        case basic = "Basic"
        case bearer = "Bearer"
    }

    /// What was sent and did not help: it is not sent again.
    package struct Refusal: Sendable, Hashable {
        package let credential: Credential
        package let scheme: Scheme

        package init(_ credential: Credential, _ scheme: Scheme) {
            self.credential = credential
            self.scheme = scheme
        }
    }

    package struct Choice: Sendable, Hashable {
        package let credential: Credential
        package let scheme: Scheme
        /// Empty where the server names none.
        package let realm: String
        package let digest: DigestChallenge?
        /// The URIs that a digest challenge says it is for (RFC 7616 section 3.3).
        package let domain: String?
    }

    /// Chooses a challenge and the credential that answers it.
    ///
    /// Digest goes before Basic, of each the one the server names first. A server that refuses without a challenge, which RFC 9110 forbids
    /// and many do, gets the credential as it is.
    ///
    /// - Parameters:
    ///   - challenges: those of the response, in its order.
    ///   - refused: the credentials that were sent in this run and refused, with their schemes.
    ///   - credential: the credential of a realm, or nil.
    /// - Returns: nil when nothing is left that could help.
    package static func choose(
        _ challenges: [AuthenticationChallenge], refused: Set<Refusal>, credential: (String) -> Credential?
    ) -> Choice? {
        if challenges.isEmpty { return unasked(refused, credential("")) }
        for scheme in [Scheme.digest, .basic, .bearer] {
            for challenge in challenges where challenge.scheme == scheme.rawValue.lowercased() {
                let realm = challenge.parameters["realm"] ?? ""
                guard let known = credential(realm), fits(known, scheme) else { continue }
                guard !refused.contains(Refusal(known, scheme)) else { continue }
                let digest = scheme == .digest ? DigestChallenge(challenge) : nil
                if scheme == .digest, digest == nil { continue }
                return Choice(credential: known, scheme: scheme, realm: realm, digest: digest, domain: challenge.parameters["domain"])
            }
        }
        return nil
    }

    private static func unasked(_ refused: Set<Refusal>, _ credential: Credential?) -> Choice? {
        guard let credential else { return nil }
        let scheme = plainScheme(of: credential)
        guard !refused.contains(Refusal(credential, scheme)) else { return nil }
        return Choice(credential: credential, scheme: scheme, realm: "", digest: nil, domain: nil)
    }

    /// How it goes out before anybody has asked.
    package static func plainScheme(of credential: Credential) -> Scheme {
        switch credential.kind {
        case .basic: .basic
        case .bearer: .bearer
        }
    }

    private static func fits(_ credential: Credential, _ scheme: Scheme) -> Bool {
        switch credential.kind {
        case .basic: scheme != .bearer
        case .bearer: scheme == .bearer
        }
    }

    /// A token was refused, or may have been: by a challenge of its scheme, or by a server that says nothing. A server that wants something
    /// else will not take a newer one either.
    package static func wantsToken(_ challenges: [AuthenticationChallenge]) -> Bool {
        challenges.isEmpty || challenges.contains { $0.scheme == "bearer" }
    }
}
