import CleanSlate
import Testing

@testable public import ScopedNet

@Suite(.leavesNothing) struct TokenStateTests {
    @Test func oneRenewalForAnyNumberOfRefusals() {
        var state = TokenState("old")
        #expect(state.ask(insteadOf: nil, waiter: 1) == .use("old"))
        #expect(state.ask(insteadOf: "old", waiter: 2) == .renew(1, refused: "old"))
        #expect(state.ask(insteadOf: "old", waiter: 3) == .wait)
        // Who knows nothing yet does not get the one that was refused.
        #expect(state.ask(insteadOf: nil, waiter: 4) == .wait)
        #expect(state.renewed(1, "new") == [2, 3, 4])
        #expect(state.token == "new")
        // Late: it carried the old one.
        #expect(state.ask(insteadOf: "old", waiter: 5) == .use("new"))
        #expect(state.ask(insteadOf: "new", waiter: 6) == .renew(2, refused: "new"))
    }

    @Test func aFailureReachesEachOnceAndTheNextTriesAgain() {
        var state = TokenState(nil)
        #expect(state.ask(insteadOf: nil, waiter: 1) == .renew(1, refused: nil))
        #expect(state.ask(insteadOf: nil, waiter: 2) == .wait)
        #expect(state.renewed(1, nil) == [1, 2])
        #expect(state.renewed(1, nil) == [])
        #expect(state.ask(insteadOf: nil, waiter: 3) == .renew(2, refused: nil))
    }

    @Test func theLastOneToLeaveEndsIt() {
        var state = TokenState("old")
        _ = state.ask(insteadOf: "old", waiter: 1)
        _ = state.ask(insteadOf: "old", waiter: 2)
        #expect(state.leave(1) == nil)
        #expect(state.leave(1) == nil)
        #expect(state.isRenewing(1))
        #expect(state.leave(2) == 1)
        #expect(!state.isRenewing)
        #expect(state.leave(2) == nil)
    }

    /// Where the server changes its refresh token each time, the new token must not be lost.
    @Test func whatComesAfterEverybodyHasLeftIsKept() {
        var state = TokenState("old")
        _ = state.ask(insteadOf: "old", waiter: 1)
        _ = state.leave(1)
        #expect(state.renewed(1, "new") == [])
        #expect(state.token == "new")
    }

    @Test func butNotOverANewerOne() {
        var state = TokenState("old")
        _ = state.ask(insteadOf: "old", waiter: 1)
        _ = state.leave(1)
        #expect(state.ask(insteadOf: "old", waiter: 2) == .renew(2, refused: "old"))
        #expect(state.renewed(1, "late") == [])
        #expect(state.token == "old")
        #expect(state.renewed(2, "new") == [2])
        #expect(state.token == "new")
    }

    @Test func whoSignsInEndsTheRenewal() {
        var state = TokenState("old")
        _ = state.ask(insteadOf: "old", waiter: 1)
        let ended = state.set("mine")
        #expect(ended?.renewal == 1)
        #expect(ended?.waiters == [1])
        #expect(state.renewed(1, "late") == [])
        #expect(state.token == "mine")
        #expect(state.set(nil) == nil)
        #expect(state.token == nil)
    }
}

/// Tokens of which nothing but the value is known.
extension TokenSource.Token: ExpressibleByStringLiteral {
    /// Makes a token without an expiry.
    public init(stringLiteral value: String) { self.init(value, expiresIn: nil) }
}
