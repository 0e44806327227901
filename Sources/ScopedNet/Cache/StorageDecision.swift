import HTTPTypes

/// Whether a response is stored (RFC 9111 section 3), known as soon as its head is.
package enum StorageDecision: Sendable, Equatable {
    /// Yes, with this body. What becomes of it in the end ``StoredResponse/completed(bodyLength:)`` and
    /// ``StoredResponse/interrupted(after:)`` say.
    ///
    /// - `replacing`: the candidates that go when it is committed, and not before: a body that breaks off must not cost what there was. Which of
    ///   them do, ``CacheForward/leaving(_:for:)`` says when it is known what there is.
    case store(StoredResponse, body: [BodyPiece], replacing: [Int])
    /// Yes, in place of nothing, with the body that is coming and no other.
    case plain(PlainReply)
    case refuse(Reason)

    package enum Reason: String, Sendable, Equatable, CaseIterable {
        case policy
        case method
        case requestNoStore
        case noStore
        case notUnderstood
        case varyStar
        case notFinal
        case partial
        case notCacheable
        case notModified
        case url
        case staleIsBetter
        case requestBody
        case tooManyFields

        /// A word for ``ResponseCache/Status/detail`` and for logs.
        package var description: String {
            switch self {
            case .policy: "the policy stores nothing"
            case .method: "responses to this method are not stored"
            case .requestNoStore: "the request says no-store"
            case .noStore: "the response says no-store"
            case .notUnderstood: "must-understand, and the status is unknown"
            case .varyStar: "Vary is *, malformed or too long"
            case .notFinal: "the status is not final"
            case .partial: "it answers a range or a condition, not the URL"
            case .notCacheable: "nothing says for how long it is good, and nothing to validate it by"
            case .notModified: "a 304 is not stored"
            case .url: "the URL makes no key"
            case .requestBody: "the request has a body, which is no part of the key"
            case .tooManyFields: "there are too many fields"
            case .staleIsBetter: "what is stored may be used in place of an error"
            }
        }
    }
}

/// A piece of a body that is put together, in order.
package enum BodyPiece: Sendable, Equatable {
    /// Bytes of a candidate's stored body, counted from its own first byte.
    case stored(candidate: Int, Range<Int64>)
    /// The whole body of the response that is coming.
    case received
}

extension StorageDecision {
    /// Finds the reason not to store this response to this request; nil when it may be stored. `facts` are those of its head.
    static func obstacle(_ head: CacheHead, _ facts: StoredFacts, to request: CacheRequest, policy: CachePolicy) -> Reason? {
        if policy.write.isEmpty { return .policy }
        if request.isUnkeyed(policy) { return .requestBody }
        if head.status < 200 { return .notFinal }
        if head.status == 304 { return .notModified }
        if head.fields.count > StorableFields.maxFields { return .tooManyFields }
        if CacheControl(request: request.fields).noStore { return .requestNoStore }
        if facts.control.mustUnderstand {
            if !understoodStatuses.contains(head.status) { return .notUnderstood }
        } else if facts.control.noStore {
            return .noStore
        }
        if !isAnswered(request, by: head, facts, policy) { return .method }
        if head.status == 206, !request.fields.contains(.range) { return .partial }
        // They answer a condition or a range, not the URL.
        if head.status == 412 || head.status == 416 { return .partial }
        return isWorthStoring(head.status, facts, policy) ? nil : .notCacheable
    }

    /// Whether the response is one that a later request for the URL may get.
    private static func isAnswered(_ request: CacheRequest, by head: CacheHead, _ facts: StoredFacts, _ policy: CachePolicy) -> Bool {
        if request.method == .get || policy.keeps(request.method) { return true }
        // The server says that the representation of this very URL is enclosed (RFC 9110 section 9.3.3).
        guard request.method == .post, head.status == 200, facts.hasExplicitLifetime,
            let url = CacheURL(request.url), let location = head.fields.onlyLine(.contentLocation)
        else { return false }
        return url.resolving(location)?.text == url.text
    }

    static func isWorthStoring(_ status: Int, _ facts: StoredFacts, _ policy: CachePolicy) -> Bool {
        if policy.timeToLive != nil, (200..<300).contains(status) { return true }
        if facts.hasExplicitLifetime { return true }
        let mayBeStored = facts.control.isPublic || facts.control.isPrivate || Freshness.heuristicStatuses.contains(status)
        return mayBeStored && !facts.validators.isEmpty
    }

    /// The final statuses of RFC 9110 section 15, whose caching this library knows.
    static let understoodStatuses: Set<Int> = [
        200, 201, 202, 203, 204, 205, 206, 300, 301, 302, 303, 305, 307, 308, 400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 411,
        412,
        413, 414, 415, 416, 417, 421, 422, 426, 500, 501, 502, 503, 504, 505,
    ]

    /// What the body is going to be.
    static func pending(_ head: CacheHead, for request: CacheRequest) -> PendingContent {
        let length = head.contentLength
        guard head.status == 206, let asked = request.fields.onlyLine(.range) else { return .whole(length: length) }
        guard let content = ContentRange(head.fields), let range = content.range, length == nil || length == range.count,
            let tag = EntityTag(of: head.fields), !tag.isWeak
        else { return .verbatim(range: asked, length: length) }
        return .part(range, completeLength: content.completeLength, prefix: 0, suffix: 0)
    }
}
