import FoundationEssentials
import HTTPTypes

/// The response to a request that nothing was stored for, read once and from its bytes: what nearly all misses are.
///
/// It says what ``CacheForward/received(_:requestTime:responseTime:)`` would say, for a small part of the work, on the one thread that must not be
/// held up. Whatever is out of the ordinary (another method, a range, several lines of one field, a directive with quotes) is not read here.
package struct PlainReply: Sendable, Equatable {
    let status: Int
    let reason: String
    let length: Int64?
    let facts: StoredFacts
    let vary: VaryRule
    let requestTime: WallTime
    let responseTime: WallTime
    /// The fields that are stored, as ``StoredResponse/encoded()`` has them.
    let fields: FieldWriter

    enum Verdict: Equatable {
        case store(PlainReply)
        case refuse(StorageDecision.Reason)
    }

    /// Nil when the rules have to look at it themselves.
    static func read(_ head: ResponseHead, to forward: CacheForward, requestTime: WallTime, responseTime: WallTime) -> Verdict? {
        guard forward.isPlain, isOrdinary(head.status) else { return nil }
        var reader = PlainReplyReader(responseTime: responseTime)
        guard head.withFields({ reader.read($0) }) else { return nil }
        let facts = reader.facts(status: head.status)
        guard !facts.control.mustUnderstand, facts.control.noCacheFields.isEmpty else { return nil }
        if facts.control.noStore { return .refuse(.noStore) }
        let policy = forward.strategy.policy
        guard StorageDecision.isWorthStoring(head.status, facts, policy) else { return .refuse(.notCacheable) }
        let named = reader.vary.map { FieldText.members($0) } ?? []
        guard let vary = VaryRule(members: named, for: forward.original, hashSecret: forward.strategy.hashSecret) else {
            return .refuse(.varyStar)
        }
        return .store(
            PlainReply(
                status: head.status, reason: head.reasonPhrase, length: reader.length, facts: facts, vary: vary, requestTime: requestTime,
                responseTime: responseTime, fields: reader.fields))
    }

    /// A final status that answers the URL, and not a condition or a range.
    private static func isOrdinary(_ status: Int) -> Bool {
        status >= 200 && status != 206 && status != 304 && status != 412 && status != 416
    }

    /// What the store keeps beside a body of this length, or nil when the body is not what the head has said.
    func encoded(bodyLength: Int64, strategy: CacheStrategy) -> Data? {
        guard length == nil || length == bodyLength else { return nil }
        return StoredResponse.encoded(
            status: status, reason: reason, method: .get, times: (requestTime, responseTime), isInvalidated: false,
            version: strategy.policy.version, sensitiveValue: strategy.sensitiveHash, content: .complete(length: bodyLength),
            fields: fields,
            vary: vary)
    }

    func horizon(_ policy: CachePolicy) -> CacheHorizon {
        CacheHorizon(
            facts, Freshness(facts, status: status, times: (requestTime, responseTime), now: responseTime, policy: policy),
            responseTime: responseTime, isInvalidated: false)
    }
}

extension CacheForward {
    /// ``received(_:requestTime:responseTime:)`` for the common case, or nil when this is not one.
    func received(plain head: ResponseHead, requestTime: WallTime, responseTime: WallTime) -> CacheOutcome? {
        let verdict = PlainReply.read(head, to: self, requestTime: requestTime, responseTime: responseTime)
        var outcome = CacheOutcome(
            answer: .received, storage: .refuse(.notCacheable), status: ResponseCache.Status(forward: reason, forwardStatus: head.status))
        switch verdict {
        case nil: return nil
        case .store(let reply):
            outcome.storage = .plain(reply)
            outcome.status.isStored = true
        case .refuse(let reason):
            outcome.storage = .refuse(reason)
            outcome.status.detail = reason.description
        }
        return outcome
    }
}
