import CleanSlate
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

/// Decisions about failed attempts: facts in, a decision and a time out.
@Suite(.leavesNothing) struct RetryPlannerTests {
    private let second: UInt64 = 1_000_000_000

    /// A first attempt, of a request that may be repeated.
    private static let facts = RetryPlanner.Facts(
        attempt: 1, startedAt: 0, now: 0, deadline: nil, silentReconnects: 0, isIdempotent: true, isBodyReplayable: true, hasStream: false,
        random01: 0.5, budget: nil, date: .now)

    private func options(_ change: (inout RequestOptions) -> Void = { _ in }) -> RequestOptions {
        var options = RequestOptions()
        options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .seconds(1), backoffCap: .seconds(8))
        change(&options)
        return options
    }

    private func failure(_ code: NetworkError.Code) -> TransferResult {
        TransferResult(error: NetworkError(code, phase: .connecting, message: "a test"))
    }

    private func response(_ status: Int, _ headers: HTTPFields = [:]) -> TransferResult {
        TransferResult(head: ResponseHead(status: status, headers: headers))
    }

    private func planner(
        _ result: TransferResult, _ facts: RetryPlanner.Facts = Self.facts, _ change: (inout RequestOptions) -> Void = { _ in }
    ) throws -> RetryPlanner {
        try #require(RetryPlanner(options(change), result) { facts })
    }

    private func wait(_ decision: RetryPolicy.Decision) throws -> Duration {
        guard case .retry(let wait, _) = decision else { throw TestIssue(text: "\(decision)") }
        return wait
    }

    private struct TestIssue: Error { let text: String }

    // MARK: Nothing to mend

    @Test func anAcceptedResponseAsksForNoFacts() {
        var isAsked = false
        let planner = RetryPlanner(options(), response(200)) {
            isAsked = true
            return Self.facts
        }
        #expect(planner == nil && !isAsked)
    }

    @Test func anErrorThatAnotherAttemptCannotMendIsLeft() {
        #expect(RetryPlanner(options(), failure(.bodyTooLarge), { Self.facts }) == nil)
        #expect(RetryPlanner(options(), failure(.cancelled), { Self.facts }) == nil)
    }

    @Test func aStatusThatIsAcceptedIsNoFailure() {
        let lenient = options { $0.validation.statuses = .any }
        #expect(RetryPlanner(lenient, response(503), { Self.facts }) == nil)
    }

    // MARK: The facts

    @Test func thePolicyHearsWhatTheAttemptCameTo() throws {
        var facts = Self.facts
        (facts.attempt, facts.startedAt, facts.now, facts.random01, facts.budget) = (2, 5 * second, 8 * second, 0.25, 4)
        (facts.silentReconnects, facts.isIdempotent, facts.isBodyReplayable) = (1, false, false)
        let context = try planner(failure(.connectionRefused), facts).context
        #expect(context.outcome == .failure(.connect) && context.attempt == 2 && context.elapsed == .seconds(3))
        #expect(context.random01 == 0.25 && context.budget == 4 && context.silentReconnects == 1)
        #expect(!context.isIdempotent && !context.isBodyReplayable && !context.hasDelivered)
    }

    @Test func aBudgetAndAWishOfTheServerCountForMoreThanOneAttemptOnly() throws {
        var facts = Self.facts
        facts.budget = 0
        let wish = response(503, [.retryAfter: "7"])
        let once = try planner(wish, facts) { $0.retry = .none }
        #expect(once.context.budget == nil && once.context.retryAfter == nil && !once.isTold)
        let often = try planner(wish, facts)
        #expect(often.context.budget == 0 && often.context.retryAfter == .seconds(7) && often.isTold)
        #expect(try planner(wish) { $0.retry = RetryPolicy(maxAttempts: 2) }.isTold)
    }

    @Test func bytesOfTheHeadCountAsReceived() throws {
        var result = failure(.connectionLost)
        (result.metrics.headerBytesReceived, result.metrics.bodyBytesReceived) = (100, 20)
        #expect(try planner(result).context.bytesReceived == 120)
    }

    @Test func aResponseHasReachedTheServerAndARefusedConnectionHasNot() throws {
        #expect(try planner(response(503)).context.mayHaveReachedServer)
        #expect(try !planner(failure(.connectionRefused)).context.mayHaveReachedServer)
    }

    @Test func aStreamWhoseReaderHasTheHeadHasBeenDelivered() throws {
        var facts = Self.facts
        facts.hasStream = true
        var broken = response(200)
        broken.error = NetworkError(.connectionLost, phase: .receiving, message: "a test")
        #expect(try planner(broken, facts).context.hasDelivered)
        #expect(try !planner(response(503), facts).context.hasDelivered)
        #expect(try !planner(failure(.connectionLost), facts).context.hasDelivered)
        facts.hasStream = false
        #expect(try !planner(broken, facts).context.hasDelivered)
    }

    @Test func aDateIsReadByTheServersClock() throws {
        let now = try #require(HTTPDate("Fri, 27 Nov 2026 12:00:00 GMT", now: .now))
        let head = ResponseHead(
            status: 503, headers: [.retryAfter: "Fri, 27 Nov 2026 15:00:30 GMT", .date: "Fri, 27 Nov 2026 15:00:00 GMT"])
        #expect(RetryPlanner.retryAfter(head, now: now) == .seconds(30))
        #expect(RetryPlanner.retryAfter(ResponseHead(status: 503, headers: [.retryAfter: "soon"]), now: now) == nil)
        #expect(RetryPlanner.retryAfter(ResponseHead(status: 503, headers: [:]), now: now) == nil)
    }

    // MARK: The program

    @Test func theProgramDecidesWhatCanBeRepeated() throws {
        let planner = try planner(response(503))
        #expect(planner.isOpen(planner.decision))
        #expect(planner.isOpen(.stop(.attemptsExhausted(3))))
        #expect(!planner.isOpen(.retry(after: .zero, .staleConnection)))
        #expect(!planner.isOpen(.stop(.alreadyDelivered)))
        #expect(!planner.isOpen(.stop(.bodyNotReplayable)))
        var once = Self.facts
        once.isBodyReplayable = false
        #expect(try !self.planner(response(503), once).isOpen(.stop(.attemptsExhausted(3))))
    }

    // MARK: Times

    @Test func anAttemptBehindTheTotalTimeIsTooLate() throws {
        var facts = Self.facts
        facts.deadline = 10 * second
        let planner = try planner(response(503), facts)
        #expect(!planner.isTooLate(after: .seconds(2), now: 7 * second))
        #expect(planner.isTooLate(after: .seconds(3), now: 7 * second))
        facts.deadline = nil
        #expect(try !self.planner(response(503), facts).isTooLate(after: .seconds(3_000), now: 7 * second))
    }

    @Test func aStatusWaitsByTheClockAndDoesNotAskForAPath() throws {
        var isAsked = false
        let hasPath = {
            isAsked = true
            return false
        }
        let timing = try planner(response(503)).timing(after: .seconds(2), now: 0, hasPath: hasPath, random01: 0.5)
        #expect(timing == .after(.seconds(2)) && !isAsked)
    }

    @Test func aFailureWithoutAPathWaitsForOne() throws {
        let planner = try planner(failure(.connectionFailed))
        let timing = planner.timing(after: .seconds(2), now: 0, hasPath: { false }, random01: 0.5)
        #expect(timing == .withPath(jitter: .milliseconds(500), atMost: .seconds(8)))
        #expect(planner.timing(after: .seconds(2), now: 0, hasPath: { true }, random01: 0.5) == .after(.seconds(2)))
        #expect(planner.timing(after: .seconds(2), now: 0, hasPath: { nil }, random01: 0.5) == .after(.seconds(2)))
    }

    @Test func thatWaitEndsWithThePolicysTimeAndWithTheTotalTime() throws {
        var facts = Self.facts
        (facts.startedAt, facts.now, facts.deadline) = (0, second, 6 * second)
        let total = try planner(failure(.connectionFailed), facts)
        #expect(
            total.timing(after: .seconds(2), now: 2 * second, hasPath: { false }, random01: 0)
                == .withPath(jitter: .zero, atMost: .seconds(4)))
        #expect(
            total.timing(after: .seconds(2), now: 9 * second, hasPath: { false }, random01: 0)
                == .withPath(jitter: .zero, atMost: .seconds(2)))
        facts.deadline = nil
        let policys = try planner(failure(.connectionFailed), facts) { $0.retry.deadline = .seconds(4) }
        #expect(
            policys.timing(after: .seconds(2), now: second, hasPath: { false }, random01: 0)
                == .withPath(jitter: .zero, atMost: .seconds(3)))
    }

    @Test func theDecisionIsThePolicys() throws {
        var facts = Self.facts
        facts.budget = 10
        #expect(try wait(try planner(response(503, [.retryAfter: "5"]), facts).decision) >= .seconds(5))
        facts.attempt = 3
        #expect(try planner(response(503), facts).decision == .stop(.attemptsExhausted(3)))
    }
}
