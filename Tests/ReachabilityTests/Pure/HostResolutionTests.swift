import CleanSlate
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct HostResolutionTests {
    private let addresses = [IPAddress(192, 0, 2, 1)]

    @Test func theLastGoodAnswerIsKept() {
        var resolution = HostResolution()
        func want() -> Bool { resolution.want() }
        func finish(_ answer: [IPAddress]?, now: Duration) -> Bool { resolution.finish(answer, now: now) }
        #expect(resolution.reason == .resolving)
        #expect(want())
        #expect(!finish(addresses, now: .zero))
        #expect(resolution.reason == nil)
        #expect(want())
        #expect(!finish(nil, now: .zero))
        #expect(resolution.addresses == addresses && resolution.reason == nil)
        #expect(resolution.retryAt == .seconds(1))
    }

    @Test func aWishDuringOneIsGrantedAfterIt() {
        var resolution = HostResolution()
        func want() -> Bool { resolution.want() }
        func finish(_ answer: [IPAddress]?, now: Duration) -> Bool { resolution.finish(answer, now: now) }
        #expect(want())
        #expect(!want())
        #expect(finish(addresses, now: .zero), "its answer may be older than the wish")
        #expect(!finish(addresses, now: .zero))
    }

    @Test func failuresAreTriedAgainLaterAndLater() {
        var resolution = HostResolution()
        func want() -> Bool { resolution.want() }
        func finish(_ answer: [IPAddress]?, now: Duration) -> Bool { resolution.finish(answer, now: now) }
        var pauses: [Duration] = []
        for _ in 0..<8 {
            #expect(want())
            #expect(!finish(nil, now: .zero))
            pauses.append(resolution.retryAt ?? .zero)
        }
        #expect(resolution.reason == .nameNotResolved)
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
    }

    @Test func aRetryComesWhenItIsTimeAndOnce() {
        var resolution = HostResolution()
        let early = resolution.takeRetry(now: .seconds(99))
        _ = resolution.want()
        _ = resolution.finish(nil, now: .seconds(5))
        let before = resolution.takeRetry(now: .seconds(5) + .milliseconds(999))
        let due = resolution.takeRetry(now: .seconds(6))
        let again = resolution.takeRetry(now: .seconds(6))
        #expect(!early && !before && due && !again && resolution.retryAt == nil)
    }

    @Test func anAnswerMakesUpForFailures() {
        var resolution = HostResolution()
        for _ in 0..<3 {
            _ = resolution.want()
            _ = resolution.finish(nil, now: .zero)
        }
        #expect(resolution.hasFailed)
        _ = resolution.want()
        _ = resolution.finish(addresses, now: .zero)
        #expect(!resolution.hasFailed && resolution.retryAt == nil)
        _ = resolution.want()
        _ = resolution.finish([], now: .seconds(10))
        #expect(resolution.hasFailed && resolution.retryAt == .seconds(11), "the first failure since")
    }

    @Test func aResetForgetsWhatWasUnderWay() {
        var resolution = HostResolution()
        _ = resolution.want()
        _ = resolution.finish(nil, now: .zero)
        _ = resolution.want()
        _ = resolution.want()
        resolution.reset()
        #expect(resolution.retryAt == nil && !resolution.hasFailed && resolution.reason == .resolving, "that was another life's")
        let isFree = resolution.want()
        let isRepeated = resolution.finish(nil, now: .seconds(1))
        #expect(isFree && !isRepeated && resolution.retryAt == .seconds(2))
        resolution.reset()
        #expect(resolution.retryAt == nil)
    }
}
