/// What is known of the spaces in which credentials have been good: what they cover, and their nonces. (pure)
package struct SpaceTable: Sendable {
    package struct Answer: Sendable, Hashable {
        package let space: ProtectionSpace
        package let credential: Credential
        package let scheme: ChallengeStrategy.Scheme
        package let digest: Digest?
    }

    /// The next use of a nonce.
    package struct Digest: Sendable, Hashable {
        package let challenge: DigestChallenge
        /// From 1.
        package let count: UInt32
        package let clientNonce: String
    }

    private struct Entry {
        let space: ProtectionSpace
        let credential: Credential
        var scheme: ChallengeStrategy.Scheme
        var exchange = DigestExchange()
        /// One for each nonce of the server's: `-sess` binds its key to the first (RFC 7616 section 3.4.2).
        var clientNonce = ""
        /// Paths it was good for; none until it was.
        var prefixes: Set<String> = []
        var lastUse: UInt64 = 0
    }

    private struct Place: Hashable {
        let origin: RequestURL.Origin
        let isProxy: Bool

        init(_ space: ProtectionSpace) {
            origin = space.origin
            isProxy = space.isProxy
        }

        init(_ origin: RequestURL.Origin, isProxy: Bool) {
            self.origin = origin
            self.isProxy = isProxy
        }
    }

    /// A server that makes up realms must not fill the memory.
    private static let mostSpaces = 256
    private static let mostPrefixes = 32

    private var places: [Place: [Entry]] = [:]
    private var uses: UInt64 = 0

    package init() {}

    package var count: Int { places.values.reduce(0) { $0 + $1.count } }

    /// Most programs know none.
    package var knowsProxies: Bool { places.keys.contains { $0.isProxy } }

    // MARK: Answers

    /// Takes the digest challenge that came for a credential.
    ///
    /// - Parameters:
    ///   - challenge: the one that was chosen.
    ///   - space: the space it asks for.
    ///   - credential: the one that will answer it.
    ///   - answered: the nonce that the refused request carried.
    ///   - staleAnswers: the answers to stale nonces in a row, that request's included.
    ///   - clientNonce: random.
    /// - Returns: nil when another answer would go round in circles.
    package mutating func digest(
        _ challenge: DigestChallenge, in space: ProtectionSpace, of credential: Credential, answered: String?, staleAnswers: Int,
        clientNonce: String
    ) -> Digest? {
        change(space, credential, .digest) { entry in
            entry.scheme = .digest
            guard case .answer(let fresh, let count) = entry.exchange.refused(by: challenge, answered: answered, staleAnswers: staleAnswers)
            else {
                return nil
            }
            if count == 1 || entry.clientNonce.isEmpty { entry.clientNonce = clientNonce }
            return Digest(challenge: fresh, count: count, clientNonce: fresh.algorithm.isSession ? entry.clientNonce : clientNonce)
        }
    }

    /// The nonce of a space once more: for another attempt, or another resource.
    package mutating func next(in space: ProtectionSpace, of credential: Credential, clientNonce: String) -> Digest? {
        let place = Place(space)
        guard let index = places[place]?.firstIndex(where: { $0.space == space && $0.credential == credential }) else { return nil }
        return nextDigest(place, index, clientNonce)
    }

    private mutating func nextDigest(_ place: Place, _ index: Int, _ clientNonce: String) -> Digest? {
        guard let next = places[place]?[index].exchange.preempt() else { return nil }
        let known = places[place]?[index].clientNonce ?? clientNonce
        return Digest(
            challenge: next.challenge, count: next.count, clientNonce: next.challenge.algorithm.isSession ? known : clientNonce)
    }

    /// What goes along with a request without being asked for (RFC 7617 section 2.2, RFC 7616 section 3.6); nil where nothing is known. Of
    /// several spaces the one whose path is nearest.
    package mutating func volunteer(
        _ origin: RequestURL.Origin, isProxy: Bool, path: String, clientNonce: @autoclosure () -> String
    ) -> Answer? {
        let place = Place(origin, isProxy: isProxy)
        guard let entries = places[place] else { return nil }
        let lengths = entries.map { entry in entry.prefixes.filter { path.utf8.starts(with: $0.utf8) }.map(\.utf8.count).max() ?? -1 }
        guard let longest = lengths.max(), longest >= 0, let index = lengths.firstIndex(of: longest) else { return nil }
        let entry = entries[index]
        var digest: Digest?
        if entry.scheme == .digest {
            digest = nextDigest(place, index, clientNonce())
            if digest == nil { return nil }
        }
        uses += 1
        places[place]?[index].lastUse = uses
        return Answer(space: entry.space, credential: entry.credential, scheme: entry.scheme, digest: digest)
    }

    // MARK: Learning

    /// Notes that a credential was accepted.
    ///
    /// `domain` is that of a digest challenge; without it such a space is the whole server (RFC 7616 section 3.3).
    package mutating func learn(
        _ space: ProtectionSpace, _ credential: Credential, _ scheme: ChallengeStrategy.Scheme, path: String, domain: String? = nil
    ) {
        let prefixes = Self.prefixes(space, scheme, path: path, domain: domain)
        change(space, credential, scheme) { entry in
            entry.scheme = scheme
            guard !entry.prefixes.contains(where: { known in prefixes.allSatisfy { $0.utf8.starts(with: known.utf8) } }) else { return }
            if entry.prefixes.count + prefixes.count > Self.mostPrefixes { entry.prefixes = [] }
            entry.prefixes.formUnion(prefixes)
        }
    }

    /// `nextnonce` of `Authentication-Info`, in the answer to a digest (RFC 7616 section 3.5).
    package mutating func follow(by nonce: String, in space: ProtectionSpace, of credential: Credential, clientNonce: String) {
        let place = Place(space)
        guard let index = places[place]?.firstIndex(where: { $0.space == space && $0.credential == credential }) else { return }
        places[place]?[index].exchange.follow(by: nonce)
        places[place]?[index].clientNonce = clientNonce
    }

    package mutating func forget(_ space: ProtectionSpace) { remove { $0.space == space } }

    /// Of a space, or, where that is all of an origin, of all its realms.
    package mutating func forget(coveredBy space: ProtectionSpace) {
        remove { $0.space == space || space.realm == nil && $0.space.origin == space.origin && $0.space.isProxy == space.isProxy }
    }

    package mutating func forgetAll() { places = [:] }

    private static func prefixes(
        _ space: ProtectionSpace, _ scheme: ChallengeStrategy.Scheme, path: String, domain: String?
    ) -> [String] {
        if space.isProxy { return [""] }
        guard scheme == .digest else {
            // To the last symbolic element of the path.
            let end = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) } ?? path.startIndex
            return [String(path[..<end])]
        }
        guard let domain else { return ["/"] }
        // What is said of other servers is theirs to say.
        let paths = domain.split { $0 == " " || $0 == "\t" }.prefix(mostPrefixes).compactMap { part -> String? in
            if part.utf8.first == UInt8(ascii: "/"), !part.utf8.starts(with: "//".utf8) { return String(part) }
            guard let url = try? RequestURL(String(part)), url.origin == space.origin else { return nil }
            return url.path
        }
        return paths
    }

    private mutating func remove(where isUnwanted: (Entry) -> Bool) {
        for place in places.keys {
            places[place]?.removeAll(where: isUnwanted)
            if places[place]?.isEmpty == true { places[place] = nil }
        }
    }

    private mutating func change<Result>(
        _ space: ProtectionSpace, _ credential: Credential, _ scheme: ChallengeStrategy.Scheme, _ body: (inout Entry) -> Result
    ) -> Result {
        let place = Place(space)
        uses += 1
        var entries = places[place] ?? []
        // Another credential for the same space takes its place.
        entries.removeAll { $0.space == space && $0.credential != credential }
        let index = entries.firstIndex { $0.space == space } ?? entries.endIndex
        if index == entries.endIndex { entries.append(Entry(space: space, credential: credential, scheme: scheme)) }
        entries[index].lastUse = uses
        let result = body(&entries[index])
        places[place] = entries
        makeRoom()
        return result
    }

    private mutating func makeRoom() {
        guard count > Self.mostSpaces else { return }
        guard let oldest = places.values.joined().map(\.lastUse).min() else { return }
        remove { $0.lastUse == oldest }
    }
}
