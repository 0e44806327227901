/// The reasons for which libcurl sends a request more than once within one transfer, and the bounds of each. (pure)
///
/// - A reused connection died before the first byte of the response. For a method that is not idempotent a repeat may do the work twice
///   (RFC 9110 section 9.2.2), and for the others once is enough; libcurl would do it five times.
/// - A response was heard that libcurl answers by itself: 407 with the credentials of the proxy, 417 without the expectation. A proxy that
///   calls each nonce stale would be answered for ever.
/// - The server refused the request unprocessed on a new connection (REFUSED_STREAM, HTTP_1_1_REQUIRED; RFC 9113 section 8.7). That is safe
///   for every method, and once is enough.
struct RequestRepeats: Sendable {
    enum Decision: Sendable, Hashable {
        /// The first time, or again because the server has not processed it.
        case send
        /// In answer to a response, which is not the final one.
        case answer
        /// The reused connection was dead.
        case reconnect
        /// The reused connection was dead, and the request must not go out again.
        case connectionLost
        /// The server refuses the request on new connections.
        case refused
        /// There was no end of answers: the last response is the result.
        case giveUp

        /// The reason why the request is not sent, where that is the failure of the transfer.
        var failure: String? {
            switch self {
            case .refused: "the server refuses the request on each new connection"
            case .connectionLost: "the pooled connection was closed by the server; the request may have reached it"
            case .send, .answer, .reconnect, .giveUp: nil
            }
        }
    }

    /// The most responses that are answered within one transfer.
    static let mostAnswers = 5

    private var requests = 0
    /// The connections that were made up to the latest request.
    private(set) var connections = 0
    private var tunnelRefusals = 0
    private var wasReused = false
    private var losses = 0
    private var refusals = 0
    private var answers = 0
    private var hasHeard = false
    private var hasDroppedExpectation = false
    /// The request at hand is sent in answer to a response, or is about to be.
    var isAnswering: Bool { hasHeard || lastDecision == .answer }
    private var lastDecision = Decision.send

    /// No request has been sent.
    var isFirst: Bool { requests == 0 }

    /// Tells whether libcurl may answer a response with this status by sending the request again. `expects` says that the request has a body and
    /// a field `Expect` of the caller's.
    func mayAnswer(_ status: Int, answersProxies: Bool, expects: @autoclosure () -> Bool) -> Bool {
        switch status {
        // Also where it comes from a server: libcurl answers it all the same.
        case 407: answersProxies
        case 417: !hasDroppedExpectation && expects()
        default: false
        }
    }

    /// From here on the request is sent without its expectation.
    mutating func expectationDropped() { hasDroppedExpectation = true }

    /// A proxy has refused to open a tunnel (407).
    ///
    /// - Returns: whether it may be answered.
    mutating func mayAnswerTunnel() -> Bool {
        tunnelRefusals += 1
        return tunnelRefusals <= Self.mostAnswers
    }

    /// A line of a response has come since the request went out.
    mutating func heard() { hasHeard = true }

    /// Decides about a request that libcurl is about to send.
    ///
    /// `made` counts the connections that were made for this transfer so far (CURLINFO_NUM_CONNECTS). With `mayReconnect` the request may
    /// be repeated where a reused connection was dead.
    mutating func willSend(connections made: Int, mayReconnect: Bool) -> Decision {
        let decision = decide(mayReconnect: mayReconnect)
        requests += 1
        wasReused = made == connections
        connections = made
        hasHeard = false
        lastDecision = decision
        return decision
    }

    private mutating func decide(mayReconnect: Bool) -> Decision {
        guard requests > 0 else { return .send }
        if hasHeard {
            answers += 1
            return answers > Self.mostAnswers ? .giveUp : .answer
        }
        guard wasReused else {
            refusals += 1
            return refusals == 1 ? .send : .refused
        }
        losses += 1
        return mayReconnect && losses == 1 ? .reconnect : .connectionLost
    }
}
