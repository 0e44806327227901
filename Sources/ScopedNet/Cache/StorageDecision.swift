import HTTPTypes

/// Whether a response is stored (RFC 9111 section 3), known as soon as its head is.
package enum StorageDecision: Sendable, Equatable {
    /// Yes, with this body. What becomes of it in the end ``StoredResponse/completed(bodyLength:)`` and
    /// ``StoredResponse/interrupted(after:)`` say.
    ///
    /// - `replacing`: the candidates that go when it is committed, and not before: a body that breaks off must not cost what there was.
    case store(StoredResponse, body: [BodyPiece], replacing: [Int])
    case refuse(Reason)

    package enum Reason: String, Sendable, Equatable, CaseIterable {
        case policy, method, requestNoStore, noStore, notUnderstood, varyStar, notFinal, partial, notCacheable, notModified, url,
            staleIsBetter

        /// A word for ``CacheStatus/detail`` and for logs.
        package var description: String {
            switch self {
            case .policy: "the policy stores nothing"
            case .method: "responses to this method are not stored"
            case .requestNoStore: "the request says no-store"
            case .noStore: "the response says no-store"
            case .notUnderstood: "must-understand, and the status is unknown"
            case .varyStar: "Vary is * or malformed"
            case .notFinal: "the status is not final"
            case .partial: "it answers a range or a condition, not the URL"
            case .notCacheable: "nothing says for how long it is good, and nothing to validate it by"
            case .notModified: "a 304 is not stored"
            case .url: "the URL makes no key"
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
    /// Whether this response to this request is stored at all.
    static func obstacle(_ head: CacheHead, to request: CacheRequest, strategy: CacheStrategy, now: WallTime) -> Reason? {
        let policy = strategy.policy
        let control = CacheControl(head.fields)
        if policy.write.isEmpty { return .policy }
        if head.status < 200 { return .notFinal }
        if head.status == 304 { return .notModified }
        if CacheControl(request: request.fields).noStore { return .requestNoStore }
        if control.mustUnderstand {
            if !understoodStatuses.contains(head.status) { return .notUnderstood }
        } else if control.noStore {
            return .noStore
        }
        if let reason = methodObstacle(head, request, control, strategy, now) { return reason }
        if head.status == 206, !request.fields.contains(.range) { return .partial }
        // They answer a condition or a range, not the URL.
        if head.status == 412 || head.status == 416 { return .partial }
        return isWorthStoring(head, control, policy, now) ? nil : .notCacheable
    }

    private static func methodObstacle(
        _ head: CacheHead, _ request: CacheRequest, _ control: CacheControl, _ strategy: CacheStrategy, _ now: WallTime
    ) -> Reason? {
        if request.method == .get || strategy.policy.keeps(request.method) { return nil }
        guard request.method == .post, head.status == 200, control.hasExplicitLifetime(ExpiresField(head.fields, now: now)),
            let url = CacheURL(request.url), let location = head.fields.onlyLine(.contentLocation),
            url.resolving(location)?.text == url.text
        else { return .method }
        // The server says that the representation of this very URL is enclosed (RFC 9110 section 9.3.3).
        return nil
    }

    private static func isWorthStoring(_ head: CacheHead, _ control: CacheControl, _ policy: CachePolicy, _ now: WallTime) -> Bool {
        if policy.timeToLive != nil, (200..<300).contains(head.status) { return true }
        if control.hasExplicitLifetime(ExpiresField(head.fields, now: now)) { return true }
        let mayBeStored = control.isPublic || control.isPrivate || Freshness.heuristicStatuses.contains(head.status)
        return mayBeStored && !Validators(head, now: now).isEmpty
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
