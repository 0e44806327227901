import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RetryPolicyTests {
    private func context(
        _ outcome: RetryPolicy.Context.Outcome = .status(503), attempt: Int = 1,
        _ change: (inout RetryPolicy.Context) -> Void = { _ in }
    ) -> RetryPolicy.Context {
        var context = RetryPolicy.Context(attempt: attempt, outcome: outcome, isIdempotent: true, random01: 1)
        change(&context)
        return context
    }

    /// A GET on a kept-alive connection the server had closed.
    private func stale(_ change: (inout RetryPolicy.Context) -> Void = { _ in }) -> RetryPolicy.Context {
        context(.failure(.connectionLost)) {
            $0.isReusedConnection = true
            change(&$0)
        }
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func passingStatusesAreRetried(_ status: Int) {
        #expect(RetryPolicy.standard.decide(context(.status(status))) == .retry(after: .milliseconds(500), .status(status)))
    }

    @Test(arguments: [100, 200, 204, 301, 304, 400, 401, 403, 404, 409, 410, 412, 501, 505, 507, 0])
    func otherStatusesAreNot(_ status: Int) {
        #expect(RetryPolicy.standard.decide(context(.status(status))) == .stop(.notRetryable))
    }

    @Test(arguments: [RetryPolicy.Trigger.nameResolution, .connect, .tlsHandshake, .connectionLost, .refusedStream, .timeout])
    func transportFailuresAreRetried(_ kind: RetryPolicy.Trigger) {
        #expect(RetryPolicy.standard.decide(context(.failure(kind))) == .retry(after: .milliseconds(500), .failure(kind)))
        let without = RetryPolicy(triggers: .all.subtracting(kind))
        #expect(without.decide(context(.failure(kind))) == .stop(.notRetryable))
    }

    @Test func twoAttemptsAreOneRetry() {
        let policy = RetryPolicy(maxAttempts: 2)
        #expect(policy.decide(context()) == .retry(after: .milliseconds(500), .status(503)))
        #expect(policy.decide(context(attempt: 2)) == .stop(.attemptsExhausted(2)))
    }

    @Test func eachTriggerHasABitOfItsOwn() {
        let triggers: [RetryPolicy.Trigger] = [.nameResolution, .connect, .tlsHandshake, .connectionLost, .refusedStream, .timeout]
        #expect(triggers.map(\.rawValue) == [1, 2, 4, 8, 16, 32])
        #expect(RetryPolicy.Trigger.all.rawValue == 63)
    }

    @Test func unknownFailuresAreNot() {
        #expect(RetryPolicy.standard.decide(context(.failure([]))) == .stop(.notRetryable))
    }

    @Test(arguments: [
        ("GET", true), ("HEAD", true), ("OPTIONS", true), ("TRACE", true), ("PUT", true), ("DELETE", true),
        ("POST", false), ("PATCH", false), ("CONNECT", false), ("get", false), ("QUERY", false),
    ])
    func idempotentMethods(_ method: String, _ expected: Bool) throws {
        #expect(try #require(HTTPRequest.Method(method)).isIdempotent == expected)
    }

    @Test func otherMethodsAreRetriedOnlyIfTheyCannotHaveArrived() {
        let post = context(.failure(.connectionLost)) { $0.isIdempotent = false }
        #expect(RetryPolicy.standard.decide(post) == .stop(.notIdempotent))
        let unsent = context(.failure(.connect)) {
            $0.isIdempotent = false
            $0.mayHaveReachedServer = false
        }
        #expect(RetryPolicy.standard.decide(unsent) == .retry(after: .milliseconds(500), .failure(.connect)))
        #expect(RetryPolicy(retriesNonIdempotent: true).decide(post) == .retry(after: .milliseconds(500), .failure(.connectionLost)))
    }

    @Test func aBodyThatIsGoneStops() {
        let put = context { $0.isBodyReplayable = false }
        #expect(RetryPolicy.standard.decide(put) == .stop(.bodyNotReplayable))
    }

    @Test func whatWasDeliveredIsNotRepeated() {
        #expect(RetryPolicy.standard.decide(context { $0.hasDelivered = true }) == .stop(.alreadyDelivered))
    }

    @Test func attemptsAreCounted() {
        #expect(RetryPolicy.standard.decide(context(attempt: 2)) == .retry(after: .seconds(1), .status(503)))
        #expect(RetryPolicy.standard.decide(context(attempt: 3)) == .stop(.attemptsExhausted(3)))
        #expect(RetryPolicy(maxAttempts: 0).decide(context()) == .stop(.retriesOff))
    }

    @Test(arguments: [(1, 0.5), (2, 1.0), (3, 2.0), (4, 4.0), (6, 16.0), (7, 30.0), (8, 30.0), (1_000_000, 30.0)])
    func theBoundDoublesUpToTheCap(_ attempt: Int, _ seconds: Double) {
        let policy = RetryPolicy(maxAttempts: .max)
        #expect(policy.decide(context(attempt: attempt)) == .retry(after: .seconds(seconds), .status(503)))
    }

    @Test(arguments: [(0.0, 0.0), (0.25, 0.5), (0.5, 1.0), (1.0, 2.0), (-3.0, 0.0), (7.0, 2.0), (.nan, 1.0), (.infinity, 1.0)])
    func jitterIsFull(_ random: Double, _ seconds: Double) {
        let policy = RetryPolicy(maxAttempts: 9)
        let decision = policy.decide(context(attempt: 3) { $0.random01 = random })
        #expect(decision == .retry(after: .seconds(seconds), .status(503)))
    }

    @Test func oddNumbersDoNoHarm() {
        for policy in [
            RetryPolicy(backoffBase: .zero), RetryPolicy(backoffBase: .seconds(-1)), RetryPolicy(backoffCap: .zero),
            RetryPolicy(backoffFactor: -2), RetryPolicy(backoffFactor: .nan),
        ] {
            guard case .retry(let wait, _) = policy.decide(context(attempt: 2)) else {
                Issue.record("no retry")
                continue
            }
            #expect(wait >= .zero && wait <= .seconds(30))
        }
    }

    @Test func retryAfterIsTheLeastWait() {
        #expect(
            RetryPolicy.standard.decide(context { $0.retryAfter = .seconds(7) }) == .retry(after: .seconds(7), .status(503)))
        // Zero does not mean that all clients may come at once.
        #expect(
            RetryPolicy.standard.decide(context { $0.retryAfter = .zero }) == .retry(after: .milliseconds(500), .status(503)))
        #expect(
            RetryPolicy.standard.decide(context { $0.retryAfter = .seconds(60) }) == .retry(after: .seconds(60), .status(503)))
        #expect(RetryPolicy.standard.decide(context { $0.retryAfter = .seconds(61) }) == .stop(.retryAfterTooLong))
    }

    @Test func theDeadlineIncludesTheWait() {
        let policy = RetryPolicy(deadline: .seconds(10))
        #expect(policy.decide(context { $0.elapsed = .milliseconds(9_499) }) == .retry(after: .milliseconds(500), .status(503)))
        #expect(policy.decide(context { $0.elapsed = .milliseconds(9_500) }) == .stop(.deadline))
        #expect(policy.decide(context { $0.retryAfter = .seconds(10) }) == .stop(.deadline))
    }

    @Test func anEmptyBudgetStops() {
        #expect(RetryPolicy.standard.decide(context { $0.budget = 0.99 }) == .stop(.budgetExhausted))
        #expect(RetryPolicy.standard.decide(context { $0.budget = 1 }) == .retry(after: .milliseconds(500), .status(503)))
    }

    // MARK: Silent reconnect

    @Test func aDeadReusedConnectionIsReplacedOnceAndAtOnce() {
        for policy in [RetryPolicy.none, .standard] {
            #expect(policy.decide(stale { $0.budget = 0 }) == .retry(after: .zero, .staleConnection))
        }
        #expect(RetryPolicy.none.decide(stale { $0.silentReconnects = 1 }) == .stop(.retriesOff))
        #expect(
            RetryPolicy.standard.decide(stale { $0.silentReconnects = 1 })
                == .retry(after: .milliseconds(500), .failure(.connectionLost)))
    }

    @Test func nothingElseIsReplacedSilently() {
        let changes: [(inout RetryPolicy.Context) -> Void] = [
            { $0.isReusedConnection = false }, { $0.bytesReceived = 1 }, { $0.isIdempotent = false },
            { $0.isBodyReplayable = false }, { $0.hasDelivered = true }, { $0.outcome = .failure(.timeout) },
            { $0.outcome = .status(503) },
        ]
        for change in changes { #expect(RetryPolicy.none.decide(stale(change)) == .stop(.retriesOff)) }
        #expect(RetryPolicy(maxAttempts: 1, silentReconnect: false).decide(stale()) == .stop(.retriesOff))
        #expect(RetryPolicy(maxAttempts: 1, deadline: .zero).decide(stale()) == .stop(.retriesOff))
    }

    @Test func aPostThatWasNotSentIsReplacedSilently() {
        let post = stale {
            $0.isIdempotent = false
            $0.mayHaveReachedServer = false
        }
        #expect(RetryPolicy.none.decide(post) == .retry(after: .zero, .staleConnection))
    }

    @Test func reasonsCanBePrinted() {
        #expect("\(RetryPolicy.Reason.status(503))" == "status 503")
        #expect("\(RetryPolicy.Reason.failure([.connect]))" == "no connection")
        #expect("\(RetryPolicy.StopReason.attemptsExhausted(3))" == "all 3 attempts were made")
        #expect("\(RetryPolicy.Trigger([.connect, .timeout]))" == "no connection, timeout")
        #expect("\(RetryPolicy.Trigger())" == "other")
    }
}
