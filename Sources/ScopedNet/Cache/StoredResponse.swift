package import HTTPTypes

/// What is kept of a response besides the bytes of its body. A value: the store keeps it with the body, the rules decide by it.
package struct StoredResponse: Sendable, Equatable {
    /// Without what belongs to the connection, and with a `Date`.
    package var head: CacheHead { didSet { readFields() } }
    /// The method that got it.
    package var method: HTTPRequest.Method
    /// When the request that led to it, or the last one that validated it, was sent.
    package var requestTime: WallTime
    /// When the head of its response came.
    package var responseTime: WallTime { didSet { readFields() } }
    /// Which requests it answers.
    package var vary: VaryRule
    /// What there is of the body.
    package var content: StoredContent
    /// A HEAD has shown that the server has something else by now: not to be used without validation (RFC 9111 section 4.3.5).
    package var isInvalidated: Bool
    /// ``CachePolicy/version`` of the policy it was stored under.
    package var version: String
    /// A keyed hash of ``CachePolicy/sensitiveValue``.
    package var sensitiveValue: String?
    /// What ``head`` says.
    private(set) var facts: StoredFacts

    package init(
        head: CacheHead, method: HTTPRequest.Method, requestTime: WallTime, responseTime: WallTime, vary: VaryRule, content: StoredContent,
        isInvalidated: Bool = false, version: String = "", sensitiveValue: String? = nil
    ) {
        self.head = head
        self.method = method
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.vary = vary
        self.content = content
        self.isInvalidated = isInvalidated
        self.version = version
        self.sensitiveValue = sensitiveValue
        facts = StoredFacts(head, responseTime: responseTime)
    }

    /// Makes a response with a body that is still to come. `facts` are those of `head`.
    init(
        pending: PendingContent, head: CacheHead, facts: StoredFacts, method: HTTPRequest.Method, requestTime: WallTime,
        responseTime: WallTime, vary: VaryRule, strategy: CacheStrategy
    ) {
        self.head = head
        self.facts = facts
        self.method = method
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.vary = vary
        content = .pending(pending)
        isInvalidated = false
        version = strategy.policy.version
        sensitiveValue = strategy.sensitiveHash
    }

    private mutating func readFields() { facts = StoredFacts(head, responseTime: responseTime) }

    var control: CacheControl { facts.control }
    var validators: Validators { facts.validators }
    /// When the server made it, as `Date` has it.
    var date: WallTime { facts.date }

    /// The newer by `Date` (RFC 9111 section 4.1), then by arrival.
    static func isOlder(_ left: StoredResponse, _ right: StoredResponse) -> Bool {
        (left.date, left.responseTime) < (right.date, right.responseTime)
    }
}

/// How much of the body is stored with a response.
package enum StoredContent: Sendable, Equatable {
    /// The body is still coming; nothing can be served from it. `offset` is where the stored bytes begin in the representation, `length` its
    /// length if the head says so.
    case pending(PendingContent)
    case complete(length: Int64)
    /// Bytes of a representation with a strong entity tag, so that more of them can be put to them (RFC 9111 section 3.4).
    case part(ByteRange, completeLength: Int64?)
    /// The body of a 206 as it came: good for the very same `Range` and nothing else, as nothing ties it to other bytes.
    case verbatim(range: String, length: Int64)

    /// The number of bytes stored.
    package var length: Int64? {
        switch self {
        case .pending: nil
        case .complete(let length), .verbatim(_, let length): length
        case .part(let range, _): range.count
        }
    }
}

/// What a body is going to be, known from the head before it has come.
package enum PendingContent: Sendable, Equatable {
    /// The whole representation; `length` if `Content-Length` says it.
    case whole(length: Int64?)
    /// The answer to a `Range`, of which `prefix` bytes are stored already and come first, and `suffix` come last.
    case part(ByteRange, completeLength: Int64?, prefix: Int64, suffix: Int64)
    /// The answer to a `Range` that is kept as it is; `length` if `Content-Length` says it.
    case verbatim(range: String, length: Int64?)
}
