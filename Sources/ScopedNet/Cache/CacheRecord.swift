package import Persistence

/// One stored response as people look at it: what a listing shows, decoded.
package struct CacheRecord: Sendable {
    package let summary: EntrySummary
    /// The URL, or what a ``CachePolicy/CustomKey`` made of it.
    package let key: String
    /// The method it answers.
    package let method: String
    package let response: StoredResponse

    /// Nil when it is no stored response of this version.
    package init?(_ summary: EntrySummary) {
        guard let (method, key) = CacheKey.parts(of: summary.key), let response = StoredResponse(decoding: summary.metadata) else {
            return nil
        }
        self.summary = summary
        self.key = key
        self.method = method
        self.response = response
    }

    /// What may be done with a stored response without asking the server.
    package enum State: Sendable, Hashable {
        /// Used as it is, for so many seconds more.
        case fresh(Double)
        /// Its lifetime has been over for so many seconds: validated first, or used in place of an error.
        case stale(Double)
        /// Validated before each use, whatever its age.
        case validatedAlways
    }

    /// By the standard policy; a program's own may say otherwise.
    package func state(now: WallTime) -> State {
        if response.isInvalidated || response.control.noCache { return .validatedAlways }
        let freshness = freshness(now: now)
        return freshness.isFresh ? .fresh(freshness.remaining) : .stale(freshness.staleness)
    }

    package func freshness(now: WallTime) -> Freshness { Freshness(response, now: now, policy: .standard) }

    package var hasValidators: Bool { !response.validators.isEmpty }

    /// The length of the whole representation, where only a part is stored.
    package var wholeLength: Int64? {
        if case .part(_, let length) = response.content { length } else { nil }
    }

    /// Whether the bytes are a part of the representation only.
    package var isPart: Bool {
        if case .complete = response.content { false } else { true }
    }

    /// Nil for what a ``CachePolicy/CustomKey`` made.
    package var host: String? { CacheURL(String(Substring(key.utf8.prefix { $0 != UInt8(ascii: " ") })))?.origin.host }

    /// Whether it was stored for this URL, or under this custom key.
    package func answers(_ text: String) -> Bool {
        if key.utf8.elementsEqual(text.utf8) { return true }
        guard let url = CacheURL(text) else { return false }
        return url.text.utf8.elementsEqual(key.utf8)
    }
}

extension CacheKey {
    /// Kind and URI of a key that a store has, or nil when no ``CacheKey`` wrote it.
    fileprivate static func parts(of key: EntryKey) -> (kind: String, uri: String)? {
        let prefix = "\(key.partition.utf8.count):\(key.partition) "
        guard key.name.utf8.starts(with: prefix.utf8) else { return nil }
        let rest = key.name.utf8.dropFirst(prefix.utf8.count)
        guard let space = rest.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        return (String(Substring(rest[..<space])), String(Substring(rest[rest.index(after: space)...])))
    }
}
