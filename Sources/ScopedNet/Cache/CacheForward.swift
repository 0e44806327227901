import HTTPTypes

/// A request that goes to the server, and what is to be known when its response comes.
package struct CacheForward: Sendable {
    /// What is sent: the caller's request, with the conditions that the cache adds.
    package internal(set) var request: CacheRequest { didSet { isChanged = true } }
    package let reason: ResponseCache.Status.ForwardReason
    /// As the caller made it.
    package let original: CacheRequest
    /// What was given to ``CacheStrategy/decide(_:candidates:now:)``; indices count in it.
    package let candidates: [StoredResponse]
    let strategy: CacheStrategy
    let hasKey: Bool
    /// The stored response that would be the answer if it were good.
    var selected: Int?
    /// Those that a 304 may be about.
    var validated: [Int] = []
    /// A 304 that names no representation can only be about the one that was asked about.
    var acceptsBareNotModified = false
    /// The beginning that is to be completed.
    var completing: Int?
    /// The caller has an answer already.
    var isBeside = false
    /// ``request`` is not what the caller made.
    private(set) var isChanged: Bool
    /// A GET of the whole, for which nothing is stored that could play a part.
    let isPlain: Bool

    init(lookup: CacheLookup, request: CacheRequest, reason: ResponseCache.Status.ForwardReason) {
        self.request = request
        self.reason = reason
        original = lookup.request
        candidates = lookup.candidates
        strategy = lookup.strategy
        hasKey = lookup.hasKey
        isChanged = lookup.policy.read == .revalidate
        isPlain =
            lookup.candidates.isEmpty && lookup.hasKey && original.method == .get && !original.hasBody && lookup.range == nil
            && !lookup.wishes.noStore && !lookup.policy.write.isEmpty
    }

    func lookup(now: WallTime, candidates: [StoredResponse]? = nil) -> CacheLookup {
        CacheLookup(original, candidates: candidates ?? self.candidates, now: now, strategy: strategy)
    }

    /// Both conditions, as old servers know only the second; a server that knows both ignores the date (RFC 9110 section 13.1.3).
    mutating func addConditions(_ validators: Validators, _ index: Int) {
        guard !validators.isEmpty else { return }
        let callersTags = request.fields.lines(.ifNoneMatch)
        let callersDate = request.fields.onlyLine(.ifModifiedSince)
        if let tag = validators.tag {
            // The caller's own tags stay: the 304 may be about what the caller has (RFC 9111 section 4.3.2).
            guard !callersTags.contains(where: { FieldText.trimmed($0[...]) == "*" }) else { return }
            if !callersTags.flatMap(EntityTag.list).contains(tag) {
                request.fields.setText(.ifNoneMatch, (callersTags + [tag.description]).joined(separator: ", "))
            }
        } else if !callersTags.isEmpty {
            return
        }
        validated = [index]
        if callersTags.isEmpty, callersDate == nil, let modified = validators.lastModified {
            request.fields.setText(.ifModifiedSince, modified)
        }
        let isOwnDate = callersDate == nil || callersDate == validators.lastModified
        acceptsBareNotModified = callersTags.isEmpty && isOwnDate
    }

    mutating func addTags(of indices: [Int]) {
        var tags: [EntityTag] = []
        for tag in indices.compactMap({ candidates[$0].validators.tag }) where !tags.contains(tag) { tags.append(tag) }
        guard !tags.isEmpty else { return }
        request.fields.setText(.ifNoneMatch, tags.map(\.description).joined(separator: ", "))
        validated = indices
        acceptsBareNotModified = indices.count == 1
    }

    /// The same for a caller who waits for the server's word.
    var asked: CacheForward {
        var forward = self
        forward.isBeside = false
        return forward
    }

    /// The same without anything that the cache has added.
    var unconditional: CacheForward {
        var forward = self
        forward.request = original
        forward.validated = []
        forward.acceptsBareNotModified = false
        forward.completing = nil
        return forward
    }
}
