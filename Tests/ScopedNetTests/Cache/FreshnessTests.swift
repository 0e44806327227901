import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 4.2.
@Suite(.leavesNothing) struct FreshnessTests {
    private let now = CacheTable.start

    private func stored(_ lines: [String], status: Int = 200, delay: Double = 0) -> StoredResponse {
        let fields = HTTPFields(lines: lines)
        let head = StorableFields.head(CacheHead(status: status, fields: fields), CacheControl(fields), receivedAt: now)
        return StoredResponse(
            head: head, method: .get, requestTime: now + -delay, responseTime: now, vary: VaryRule(names: [], selections: [[]]),
            content: .complete(length: 0))
    }

    private func date(_ seconds: Double) -> String { (now + seconds).date.description }

    private func freshness(_ lines: [String], status: Int = 200, after: Double = 0, policy: CachePolicy = .standard) -> Freshness {
        Freshness(stored(lines, status: status), now: now + after, policy: policy)
    }

    @Test(
        arguments: [
            (["Cache-Control: max-age=60"], .maxAge, 60), (["Cache-Control: max-age=60, s-maxage=5"], .maxAge, 60),
            (["Cache-Control: s-maxage=5"], .none, 0), ([], .none, 0), (["Cache-Control: max-age=x"], .maxAge, 0),
            (["Cache-Control: max-age=60", "Expires: 0"], .maxAge, 60), (["Expires: 0"], .expires, 0),
            (["Cache-Control: max-age=60, max-age=7"], .maxAge, 7),
        ] as [([String], Freshness.Source, Double)])
    func theLifetimeIsWhatTheResponseSays(_ lines: [String], _ source: Freshness.Source, _ seconds: Double) {
        let freshness = freshness(lines)
        #expect(freshness.source == source)
        #expect(freshness.lifetime == seconds)
    }

    @Test func expiresCountsFromTheServersOwnDate() {
        // The server's clock is an hour ahead.
        #expect(freshness(["Expires: \(date(3660))", "Date: \(date(3600))"]).lifetime == 60)
        #expect(freshness(["Expires: \(date(60))"]).lifetime == 60)
        #expect(freshness(["Expires: \(date(60))", "Date: foo"]).lifetime == 60)
        #expect(freshness(["Expires: \(date(-60))", "Date: \(date(0))"]).lifetime == 0)
        #expect(freshness(["Expires: \(date(60))", "Expires: \(date(60))"]).lifetime == 0)
    }

    @Test(
        arguments: [
            (200, [], 1000, 100), (200, [], 864_000, 86_400), (200, [], 8_640_000, 86_400), (200, [], -50, 0), (204, [], 1000, 100),
            (404, [], 1000, 100), (403, [], 1000, 0), (599, [], 1000, 0), (599, ["Cache-Control: public"], 1000, 100),
            (201, [], 1000, 0), (410, [], 1000, 100), (502, [], 1000, 0),
        ] as [(Int, [String], Double, Double)])
    func withoutALifetimeATenthOfTheTimeSinceTheLastChange(_ status: Int, _ more: [String], _ ago: Double, _ seconds: Double) {
        let freshness = freshness(["Last-Modified: \(date(-ago))", "Date: \(date(0))"] + more, status: status)
        #expect(freshness.lifetime == seconds)
        #expect((freshness.source == .heuristic) == (seconds > 0 || ago < 0))
    }

    @Test func heuristicsCanBeTurnedOff() {
        var policy = CachePolicy.standard
        policy.usesHeuristics = false
        #expect(freshness(["Last-Modified: \(date(-1000))"], policy: policy).source == .none)
    }

    @Test(
        arguments: [
            ([], 0, 0), ([], 7, 7), (["Age: 30"], 0, 30), (["Age: 30"], 7, 37), (["Age: x"], 7, 7), (["Date: -100"], 7, 107),
            (["Date: -100", "Age: 30"], 7, 107), (["Date: -10", "Age: 30"], 7, 37), (["Date: 100"], 7, 7),
            (["Age: 99999999999"], 9, 2_147_483_648),
        ] as [([String], Double, Double)])
    func theAgeIsTheLargerOfWhatDateAndAgeSay(_ lines: [String], _ after: Double, _ age: Double) {
        let lines = lines.map { line in
            line.hasPrefix("Date: ") ? "Date: " + date(Double(line.dropFirst(6)) ?? 0) : line
        }
        #expect(freshness(lines, after: after).age == age)
    }

    @Test func theTimeTheResponseTookCounts() {
        let stored = stored(["Age: 30", "Date: \(date(0))"], delay: 4)
        #expect(Freshness(stored, now: now + 1, policy: .standard).age == 35)
    }

    @Test func aResponseIsFreshForLessThanItsLifetime() {
        #expect(freshness(["Cache-Control: max-age=5"], after: 4.9).isFresh)
        #expect(!freshness(["Cache-Control: max-age=5"], after: 5).isFresh)
        #expect(freshness(["Cache-Control: max-age=5"], after: 8).staleness == 3)
        #expect(freshness(["Cache-Control: max-age=5"], after: 3).staleness == 0)
        #expect(freshness(["Cache-Control: max-age=5"], after: 7.5).wholeSecondsLeft == -3)
    }

    /// A clock set back would make a response young again for as long.
    @Test func aClockThatWasSetBackMakesStale() {
        #expect(freshness(["Cache-Control: max-age=60"], after: -5).isFresh)
        let behind = freshness(["Cache-Control: max-age=60"], after: -3600)
        #expect(!behind.isFresh)
        #expect(behind.isClockBehind)
        #expect(behind.age == 0)
        #expect(behind.staleness == .infinity)
        var table = CacheTable()
        table.store(.init(200, HTTPFields(lines: ["Cache-Control: max-age=60, stale-while-revalidate=600"])))
        table.wait(-86_400)
        let allows = table.hits(HTTPFields(lines: ["Cache-Control: max-stale"]))
        #expect(allows)
        let bounded = table.hits(HTTPFields(lines: ["Cache-Control: max-stale=99999999"]))
        #expect(!bounded)
    }

    @Test func aPolicysTimeToLiveTakesThePlaceOfTheLifetime() {
        var policy = CachePolicy.standard
        policy.timeToLive = .seconds(600)
        #expect(freshness(["Cache-Control: max-age=5"], policy: policy).lifetime == 600)
        #expect(freshness([], policy: policy).source == .policy)
        #expect(freshness(["Cache-Control: max-age=5"], status: 404, policy: policy).lifetime == 5)
        policy.timeToLive = .seconds(-600)
        #expect(freshness([], policy: policy).lifetime == 0)
        policy.timeToLive = .seconds(Int64.max)
        #expect(freshness([], policy: policy).lifetime == 2_147_483_648)
    }

    /// Seconds from the arrival of the response.
    @Test(
        arguments: [
            (["Cache-Control: max-age=60"], 60, 60, 60, false),
            (["Cache-Control: max-age=60", "Age: 20", "ETag: \"a\""], 40, 40, 40, true),
            (["Cache-Control: max-age=60, stale-while-revalidate=5, stale-if-error=9"], 60, 65, 69, false),
            (["Cache-Control: max-age=60, stale-if-error=9, must-revalidate"], 60, 60, 60, false),
            (["Cache-Control: no-cache, max-age=60"], 0, 0, 0, false),
            (["Cache-Control: max-age=5, stale-if-error=9", "Age: 20"], -15, -15, -6, false), (["ETag: a"], 0, 0, 0, true),
        ] as [([String], Double, Double, Double, Bool)])
    func theHorizonSaysForHowLongAResponseIsOfUse(
        _ lines: [String], _ fresh: Double, _ refresh: Double, _ error: Double, _ canBeValidated: Bool
    ) {
        let horizon = CacheHorizon(
            fresh: now + fresh, staleWhileRevalidate: now + refresh, staleIfError: now + error, canBeValidated: canBeValidated)
        #expect(stored(lines).horizon(.standard) == horizon)
    }

    @Test func theHorizonFollowsThePolicy() {
        var policy = CachePolicy.standard
        policy.timeToLive = .seconds(600)
        #expect(stored(["Cache-Control: no-cache"]).horizon(policy).fresh == now + 600)
        var contradicted = stored(["Cache-Control: max-age=60"])
        contradicted.isInvalidated = true
        #expect(contradicted.horizon(.standard).fresh == now)
    }

    @Test func datesBeyondTheCalendarDoNoHarm() {
        #expect(freshness(["Expires: Fri, 31 Dec 9999 23:59:59 GMT"], after: 100).isFresh)
        #expect(freshness(["Cache-Control: max-age=60", "Date: Sat, 01 Jan 0000 00:00:00 GMT"]).age == 2_147_483_648)
    }
}
