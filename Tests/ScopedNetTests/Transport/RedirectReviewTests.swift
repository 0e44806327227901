import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// SES-10: the rules hold for what a hook made of a redirect.
@Suite(.leavesNothing) struct RedirectReviewTests {
    private let fields: HTTPFields = [.authorization: "secret", .cookie: "a=1", .accept: "text/plain"]

    private func review(
        _ url: String?, from: String = "https://h/a", method: HTTPRequest.Method = .get, policy: RedirectPolicy = .default,
        setsCookie: Bool = false,
        proposed: HTTPFields? = nil
    ) -> RedirectReview {
        let visits = [RedirectPolicy.Context.Visit(method: .get, url: from)]
        return policy.review(
            RedirectPolicy.Context(status: 302, location: url, visits: visits, setsCookie: setsCookie), method: method, fields: fields,
            proposed: proposed ?? fields)
    }

    @Test func atTheOriginEverythingStays() {
        #expect(review("https://h/b") == .accept(fields))
        #expect(review("https://H:443/b") == .accept(fields))
    }

    @Test(arguments: ["https://other/", "https://h:444/"])
    func elsewhereGoesWhatTheHookHasSet(url: String) {
        #expect(review(url) == .accept([.accept: "text/plain"]))
        #expect(
            review(url, proposed: [.authorization: "old", .cookie: "a=1"]) == .accept([.authorization: "secret", .accept: "text/plain"]))
        #expect(review(url, proposed: [:]) == .accept(fields))
    }

    @Test func namesOfTheProgramsOwnStayToo() {
        let policy = RedirectPolicy(additionalSensitiveNames: ["Accept"])
        #expect(review("https://other/", policy: policy) == .accept([:]))
    }

    @Test(arguments: [nil, "ftp://h/", "nonsense", "https://a b/"])
    func otherTargetsAreRefused(url: String?) {
        #expect(review(url) == .refuse(.unsupportedTarget))
    }

    @Test func encryptionIsNotGivenUp() {
        #expect(review("http://h/b") == .refuse(.downgrade))
        #expect(review("http://h/b", policy: RedirectPolicy(allowsDowngrade: true)) == .accept([.accept: "text/plain"]))
        #expect(review("http://h/b", from: "http://h/a") == .accept(fields))
    }

    @Test func theModeHolds() {
        let policy = RedirectPolicy(mode: .sameOriginOnly)
        #expect(review("https://other/", policy: policy) == .refuse(.otherOrigin))
        #expect(review("https://h/b", policy: policy) == .accept(fields))
    }

    @Test func circlesAreNoticed() {
        #expect(review("https://h/a") == .refuse(.loop))
        #expect(review("https://h/a#part") == .refuse(.loop))
        #expect(review("https://h/a", method: .post) == .accept(fields))
        // Another answer may well come now.
        #expect(review("https://h/a", setsCookie: true) == .accept(fields))
    }
}
