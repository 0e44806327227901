import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 5.2.
@Suite(.leavesNothing) struct CacheControlTests {
    private func control(_ lines: String...) -> CacheControl { CacheControl(HTTPFields(lines: lines.map { "Cache-Control: " + $0 })) }

    @Test(
        arguments: [
            ("max-age=3600", 3600), ("MaX-aGe=3600", 3600), ("max-age=003600", 3600), ("max-age=\"3600\"", 3600), ("max-age=0", 0),
            ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999", 2_147_483_648),
            ("max-age=999999999999999999999999", 2_147_483_648),
            ("foobar, max-age=7", 7), ("a=\"b, c\", max-age=7", 7), ("a=\"\\\", max-age=9\", max-age=7", 7), (",,max-age=7,,", 7),
            ("max-age=7;public", 0), ("max-age=1800, max-age=1", 1), ("max-age=1, max-age=1800", 1), ("max-age=9, max-age=x", 0),
            ("extension=\"max-age=3600\", max-age=1", 1), ("max-age=1, extension=\"max-age=3600\"", 1),
        ] as [(String, Double)])
    func aMaxAgeIsReadAsTheGrammarHasIt(_ value: String, _ seconds: Double) {
        #expect(control(value).maxAge == seconds)
    }

    @Test(arguments: [
        "max-age=a3600", "max-age=3600a", "max-age=3600.0", "max-age=-1", "max-age=+1", "max-age='3600'", "max-age", "max-age=",
        "max-age=\"",
        "max-age =3600", "max-age= 3600", "max-age=\"3600", "max-age=\"36\"00", "max-age=1 2", "max-age=٣", "max-age=\"3\\\"",
    ])
    func aMalformedMaxAgeIsZero(_ value: String) {
        #expect(control(value).maxAge == 0)
    }

    @Test(arguments: ["", "s-maxage=5", "extension=\"max-age=5\"", "xmax-age=5", "max-agé=5"])
    func whatIsNoMaxAgeIsNone(_ value: String) {
        #expect(control(value).maxAge == nil)
    }

    @Test func directivesAreGatheredOverAllLines() {
        let control = control("no-store", "max-age=5, must-revalidate", "PUBLIC , immutable")
        #expect(control.noStore)
        #expect(control.mustRevalidate)
        #expect(control.isPublic)
        #expect(control.immutable)
        #expect(control.maxAge == 5)
        #expect(!control.isPrivate)
        #expect(!control.mustUnderstand)
    }

    @Test func aQuoteThatIsNotClosedEndsWithItsLine() {
        let control = control("a=\"b, max-age=9", "max-age=5")
        #expect(control.maxAge == 5)
    }

    @Test(
        arguments: [
            ("no-cache", true, []), ("no-cache=\"a\"", false, ["a"]), ("no-cache=\"A, b\"", false, ["a", "b"]),
            ("no-cache=a", false, ["a"]),
            ("no-cache=\"\"", true, []), ("no-cache=\"a b\"", true, []), ("no-cache=", true, []), ("no-cache=\"a\", no-cache", true, ["a"]),
            ("no-cache=\"a", true, []), ("private=\"a\"", false, []), ("No-CaChE", true, []),
        ] as [(String, Bool, [String])])
    func noCacheHoldsForAllOrForItsFields(_ value: String, _ isForAll: Bool, _ names: [String]) {
        let control = control(value)
        let found = control.noCacheFields.map(\.canonicalName)
        #expect(control.noCache == isForAll)
        #expect(found == names)
    }

    @Test(
        arguments: [
            ("min-fresh=5", 5), ("min-fresh=5, min-fresh=9", 9), ("min-fresh=x", 2_147_483_648), ("max-age=1", nil),
            ("min-fresh=0", 0),
        ] as [(String, Double?)])
    func theLargerMinFreshWins(_ value: String, _ seconds: Double?) {
        #expect(control(value).minFresh == seconds)
    }

    @Test(
        arguments: [
            ("max-stale", .infinity), ("max-stale=5", 5), ("max-stale=5, max-stale", 5), ("max-stale=x", 0), ("max-stale =7", 0),
            ("a", nil),
        ] as [(String, Double?)])
    func maxStaleWithoutAnArgumentIsWithoutBound(_ value: String, _ seconds: Double?) {
        #expect(control(value).maxStale == seconds)
    }

    @Test func theWindowsOfRFC5861AreRead() {
        let control = control("stale-while-revalidate=30, stale-if-error=60, stale-if-error=20")
        #expect(control.staleWhileRevalidate == 30)
        #expect(control.staleIfError == 20)
        #expect(self.control("stale-while-revalidate").staleWhileRevalidate == 0)
        #expect(self.control("stale-if-error").staleIfError == 0)
    }

    /// RFC 9111 section 5.4.
    @Test func pragmaCountsOnlyWhereThereIsNoCacheControl() {
        #expect(CacheControl(request: HTTPFields(lines: ["Pragma: no-cache"])).noCache)
        #expect(CacheControl(request: HTTPFields(lines: ["Pragma: x, No-Cache"])).noCache)
        #expect(!CacheControl(request: HTTPFields(lines: ["Pragma: x"])).noCache)
        #expect(!CacheControl(request: HTTPFields(lines: ["Pragma: no-cache", "Cache-Control: max-age=5"])).noCache)
        #expect(!CacheControl(HTTPFields(lines: ["Pragma: no-cache"])).noCache)
    }

    @Test func bytesBeyondASCIIDoNoHarm() {
        let control = control("e\u{301}=\"ü,\", max-age=5, \u{ff}")
        #expect(control.maxAge == 5)
    }
}
