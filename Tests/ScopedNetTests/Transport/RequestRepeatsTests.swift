import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct RequestRepeatsTests {
    /// The decision about a second request. `first` counts the connections made for the transfer before its first request, 0 where the pool
    /// had one; with `heard` a response has begun before the second.
    private func second(_ first: Int, then later: Int, heard: Bool = false, mayReconnect: Bool = true) -> RequestRepeats.Decision {
        var repeats = RequestRepeats()
        #expect(repeats.willSend(connections: first, mayReconnect: mayReconnect) == .send)
        if heard { repeats.heard() }
        return repeats.willSend(connections: later, mayReconnect: mayReconnect)
    }

    @Test func aDeadPooledConnectionIsReplacedOnce() {
        #expect(second(0, then: 1) == .reconnect)
        #expect(second(0, then: 0) == .reconnect)
        #expect(second(0, then: 1, mayReconnect: false) == .connectionLost)

        var repeats = RequestRepeats()
        _ = repeats.willSend(connections: 0, mayReconnect: true)
        #expect(repeats.willSend(connections: 0, mayReconnect: true) == .reconnect)
        #expect(repeats.willSend(connections: 0, mayReconnect: true) == .connectionLost)
    }

    @Test(arguments: [true, false]) func anAnswerIsNoLostConnection(_ mayReconnect: Bool) {
        for (first, later) in [(0, 0), (0, 1), (1, 1), (1, 2)] {
            #expect(second(first, then: later, heard: true, mayReconnect: mayReconnect) == .answer)
        }
    }

    @Test func whatANewConnectionRefusesUnprocessedGoesOutAgainOnce() {
        #expect(second(1, then: 2, mayReconnect: false) == .send)
        #expect(second(1, then: 1, mayReconnect: false) == .send)

        var repeats = RequestRepeats()
        for decision in [RequestRepeats.Decision.send, .send, .refused] {
            #expect(repeats.willSend(connections: repeats.connections + 1, mayReconnect: false) == decision)
        }
    }

    /// The connection of the refused request was new, and is a pooled one for its repeat.
    @Test func anAnswerMayLoseItsConnection() {
        var repeats = RequestRepeats()
        _ = repeats.willSend(connections: 1, mayReconnect: false)
        repeats.heard()
        #expect(repeats.willSend(connections: 1, mayReconnect: false) == .answer)
        #expect(repeats.willSend(connections: 2, mayReconnect: false) == .connectionLost)
    }

    @Test func answersHaveAnEnd() {
        var repeats = RequestRepeats()
        _ = repeats.willSend(connections: 1, mayReconnect: true)
        for _ in 0..<RequestRepeats.mostAnswers {
            repeats.heard()
            #expect(repeats.willSend(connections: 1, mayReconnect: true) == .answer)
        }
        repeats.heard()
        #expect(repeats.willSend(connections: 1, mayReconnect: true) == .giveUp)
    }

    @Test func answersForATunnelHaveAnEnd() {
        var repeats = RequestRepeats()
        let answers = (0...RequestRepeats.mostAnswers).map { _ in repeats.mayAnswerTunnel() }
        #expect(answers == Array(repeating: true, count: RequestRepeats.mostAnswers) + [false])
        #expect(repeats.isFirst)
        #expect(repeats.willSend(connections: 3, mayReconnect: false) == .send)
        #expect(!repeats.isFirst && repeats.connections == 3)
    }

    @Test func anAnswerIsKnownAsOne() {
        var repeats = RequestRepeats()
        _ = repeats.willSend(connections: 0, mayReconnect: true)
        #expect(!repeats.isAnswering)
        repeats.heard()
        #expect(repeats.isAnswering)
        _ = repeats.willSend(connections: 0, mayReconnect: true)
        #expect(repeats.isAnswering)
        _ = repeats.willSend(connections: 0, mayReconnect: true)
        #expect(!repeats.isAnswering)
    }

    @Test func aStatusIsAnsweredByTheOneWhoCan() {
        var repeats = RequestRepeats()
        #expect(repeats.mayAnswer(407, answersProxies: true, expects: false))
        #expect(!repeats.mayAnswer(407, answersProxies: false, expects: true))
        #expect(!repeats.mayAnswer(200, answersProxies: true, expects: true))
        #expect(!repeats.mayAnswer(417, answersProxies: true, expects: false))
        // Once: without its expectation the request is sent as it is.
        #expect(repeats.mayAnswer(417, answersProxies: false, expects: true))
        repeats.expectationDropped()
        #expect(!repeats.mayAnswer(417, answersProxies: false, expects: true))
    }

    @Test func onlyARequestThatMustNotGoOutHasAReason() {
        let decisions: [RequestRepeats.Decision] = [.send, .answer, .reconnect, .giveUp]
        #expect(decisions.allSatisfy { $0.failure == nil })
        #expect(RequestRepeats.Decision.connectionLost.failure != nil && RequestRepeats.Decision.refused.failure != nil)
    }
}
