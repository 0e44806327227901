import CleanSlate
import ScopedNet
import Testing

/// RFC 6265bis sections 5.1.3, 5.1.4, 5.7 and 5.8.
@Suite(.leavesNothing) struct CookieTableTests {
    private static func origin(_ url: String) -> CookieOrigin {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        return CookieOrigin(scheme: String(parts[0].dropLast()), host: String(parts[2]), path: parts.count > 3 ? "/" + parts[3] : "")
    }

    private static func table(_ limits: CookieTable.Limits = .init()) -> CookieTable {
        CookieTable(limits: limits) { !$0.contains(".") || $0 == "co.uk" }
    }

    /// What is sent to a URL after one cookie was received from another.
    private static func sent(_ field: String, from: String, to: String, at now: Double = 0) -> String? {
        var table = table()
        _ = table.receive(field, from: origin(from), now: 0)
        return table.field(for: origin(to), now: now)
    }

    @Test(arguments: [
        ("a=1", "http://example.com/", true), ("a=1", "http://www.example.com/", false),
        ("a=1; Domain=example.com", "http://example.com/", true),
        ("a=1; Domain=example.com", "http://www.example.com/", true), ("a=1; Domain=.example.com", "http://www.example.com/", true),
        ("a=1; Domain=EXAMPLE.com", "http://example.com/", true), ("a=1; Domain=example.com", "http://badexample.com/", false),
        ("a=1; Domain=", "http://www.example.com/", false), ("a=1; Domain=example.com", "http://example.com./", true),
    ])
    func domainsAreMatched(_ field: String, _ url: String, _ isSent: Bool) {
        #expect(Self.sent(field, from: "http://example.com/", to: url) == (isSent ? "a=1" : nil))
    }

    @Test(arguments: [
        ("a=1; Domain=other.com", "http://example.com/", CookieTable.Refusal.foreignDomain),
        ("a=1; Domain=www.example.com", "http://example.com/", .foreignDomain),
        ("a=1; Domain=éxample.com", "http://éxample.com/", .foreignDomain),
        ("a=1; Domain=com", "http://example.com/", .publicSuffix), ("a=1; Domain=co.uk", "http://example.co.uk/", .publicSuffix),
        ("a=1; Domain=0.0.1", "http://127.0.0.1/", .foreignDomain), ("a=1; Secure", "http://example.com/", .insecureOrigin),
        ("a=1; SameSite=None", "https://example.com/", .sameSiteNoneWithoutSecure), ("\u{1}", "http://example.com/", .unreadable),
        ("__Secure-a=1", "https://example.com/", .prefixRule), ("__secure-a=1", "https://example.com/", .prefixRule),
        ("__Host-a=1; Secure", "https://example.com/x/y", .prefixRule),
        ("__Host-a=1; Secure; Path=/x", "https://example.com/", .prefixRule),
        ("__Host-a=1; Secure; Path=/; Domain=example.com", "https://example.com/", .prefixRule),
        ("__Host-a; Secure; Path=/", "https://example.com/", .prefixRule), ("=__Secure-a; Secure", "https://example.com/", .prefixRule),
        ("__Http-a=1; Secure", "https://example.com/", .prefixRule), ("__http-a=1; HttpOnly", "https://example.com/", .prefixRule),
        ("__Host-Http-a=1; Secure; Path=/", "https://example.com/", .prefixRule),
        ("__host-http-a=1; Secure; HttpOnly", "https://example.com/x/y", .prefixRule),
        ("__Host-Http-a=1; HttpOnly; Path=/", "https://example.com/", .prefixRule),
        ("__Host-Http-a=1; Secure; HttpOnly; Path=/; Domain=example.com", "https://example.com/", .prefixRule),
        ("__Http-a; Secure; HttpOnly", "https://example.com/", .prefixRule),
        ("=__Host-Http-a; Secure; HttpOnly; Path=/", "https://example.com/", .prefixRule),
    ])
    func whatNobodyMaySetIsRefused(_ field: String, _ url: String, _ refusal: CookieTable.Refusal) {
        var table = Self.table()
        let decision = table.receive(field, from: Self.origin(url), now: 0)
        #expect(decision == .refused(refusal) && table.count == 0)
    }

    @Test(arguments: [
        ("__Secure-a=1; Secure", "https://example.com/x"), ("__Host-a=1; Secure; Path=/", "https://example.com/x/y"),
        ("__Http-a=1; Secure; HttpOnly; Domain=example.com", "https://example.com/x"), ("__HttpOnly=1", "http://example.com/"),
        ("__Host-Http-a=1; Secure; HttpOnly; Path=/", "https://example.com/x/y"),
        ("a=1; Domain=co.uk", "http://co.uk/"), ("a=1; Domain=127.0.0.1", "http://127.0.0.1/"),
        ("a=1; Domain=localhost", "http://localhost/"),
        ("a=1; SameSite=None; Secure", "https://example.com/"), ("a=1", "http://[::1]/"),
    ])
    func theseAreKept(_ field: String, _ url: String) {
        var table = Self.table()
        guard case .stored(let key) = table.receive(field, from: Self.origin(url), now: 0) else {
            Issue.record("refused")
            return
        }
        #expect(table.all.map(\.key) == [key])
    }

    @Test func theLimitsAreThoseTheStandardAsksFor() {
        let limits = CookieTable.Limits()
        #expect(limits.perDomain == 50 && limits.total == 3_000 && limits.lifetime == 34_560_000)
    }

    @Test func aSecondIsALife() {
        #expect(Self.sent("a=1; Max-Age=1", from: "http://h.test/", to: "http://h.test/", at: 0.5) == "a=1")
        #expect(Self.sent("a=1; Max-Age=1", from: "http://h.test/", to: "http://h.test/", at: 2) == nil)
        #expect(Self.sent("a=1; Max-Age=0", from: "http://h.test/", to: "http://h.test/") == nil)
    }

    /// Section 5.7: only what would be sent beside it is protected.
    @Test func aSecureCookieOfANeighbourStandsInNobodysWay() {
        var table = Self.table()
        _ = table.receive("a=1; Secure", from: Self.origin("https://one.example.com/"), now: 0)
        guard case .stored = table.receive("a=2", from: Self.origin("http://two.example.com/"), now: 0) else {
            Issue.record("refused for another host's cookie")
            return
        }
        let decision = table.receive("a=3", from: Self.origin("http://one.example.com/"), now: 0)
        #expect(decision == .refused(.secureOverwritten))
    }

    @Test func aPublicSuffixOfOnesOwnIsForThatHostAlone() {
        #expect(Self.sent("a=1; Domain=co.uk", from: "http://co.uk/", to: "http://co.uk/") == "a=1")
        #expect(Self.sent("a=1; Domain=co.uk", from: "http://co.uk/", to: "http://example.co.uk/") == nil)
    }

    @Test(arguments: [
        ("/", "/", true), ("/", "/any", true), ("/a", "/a", true), ("/a", "/a/b", true), ("/a", "/ab", false), ("/a/", "/a/b", true),
        ("/a/", "/a", false), ("/a", "/A", false),
    ])
    func pathsAreMatched(_ cookie: String, _ path: String, _ isSent: Bool) {
        #expect(Self.sent("a=1; Path=\(cookie)", from: "http://h.test/", to: "http://h.test" + path) == (isSent ? "a=1" : nil))
    }

    @Test(arguments: [("http://h.test", "/"), ("http://h.test/a", "/"), ("http://h.test/a/b", "/a"), ("http://h.test/a/b/", "/a/b")])
    func theDefaultPathEndsBeforeTheLastSlash(_ url: String, _ path: String) {
        #expect(Self.origin(url).defaultPath == path)
    }

    @Test func secureCookiesAreForHTTPSAlone() {
        #expect(Self.sent("a=1; Secure", from: "https://h.test/", to: "https://h.test/") == "a=1")
        #expect(Self.sent("a=1; Secure", from: "https://h.test/", to: "http://h.test/") == nil)
        #expect(Self.sent("a=1", from: "https://h.test/", to: "http://h.test/") == "a=1")
    }

    // Section 5.7: who reads the wire replaces nothing that https set.
    @Test func aSecureCookieIsNotOverlaidFromHTTP() {
        var table = Self.table()
        _ = table.receive("a=1; Secure; Path=/p; Domain=example.com", from: Self.origin("https://example.com/"), now: 0)
        let below = table.receive("a=2; Path=/p/q", from: Self.origin("http://www.example.com/"), now: 1)
        let other = table.receive("a=3; Path=/", from: Self.origin("http://example.com/"), now: 1)
        let name = table.receive("b=4; Path=/p", from: Self.origin("http://example.com/"), now: 1)
        let secure = table.receive("a=5; Path=/p; Domain=example.com", from: Self.origin("https://example.com/"), now: 1)
        #expect(below == .refused(.secureOverwritten))
        let others = [other, name, secure]
        #expect(others.allSatisfy { if case .stored = $0 { true } else { false } })
    }

    @Test func lifetimesAreCountedAndBounded() {
        let url = "http://h.test/"
        #expect(Self.sent("a=1; Max-Age=10", from: url, to: url, at: 9.9) == "a=1")
        #expect(Self.sent("a=1; Max-Age=10", from: url, to: url, at: 10) == nil)
        #expect(Self.sent("a=1; Expires=Thu, 01 Jan 1970 00:00:20 GMT", from: url, to: url, at: 19) == "a=1")
        #expect(Self.sent("a=1; Expires=Thu, 01 Jan 1970 00:00:20 GMT", from: url, to: url, at: 20) == nil)
        #expect(Self.sent("a=1; Max-Age=10; Expires=Thu, 01 Jan 2030 00:00:00 GMT", from: url, to: url, at: 10) == nil)
        #expect(Self.sent("a=1; Max-Age=99999999999", from: url, to: url, at: 400 * 86_400 - 1) == "a=1")
        #expect(Self.sent("a=1; Max-Age=99999999999", from: url, to: url, at: 400 * 86_400) == nil)
        #expect(Self.sent("a=1", from: url, to: url, at: 1e12) == "a=1")
    }

    @Test func aCookieIsReplacedAndTakenBackByItsServer() {
        var table = Self.table()
        let origin = Self.origin("http://h.test/")
        _ = table.receive("a=1", from: origin, now: 0)
        _ = table.receive("b=1", from: origin, now: 1)
        _ = table.receive("a=2", from: origin, now: 2)
        let field = table.field(for: origin, now: 3)
        // The time of its creation stays, and with it its place.
        #expect(field == "a=2; b=1")
        let removed = table.receive("a=; Max-Age=0", from: origin, now: 4)
        #expect(removed == .removed(Cookie.Key(name: "a", domain: "h.test", path: "/", isHostOnly: true)))
        let rest = table.field(for: origin, now: 5)
        #expect(rest == "b=1")
    }

    @Test func longerPathsComeFirstAndOlderOnesBeforeNewer() {
        var table = Self.table()
        let origin = Self.origin("http://h.test/a/b")
        for (time, field) in ["x=1; Path=/", "y=2; Path=/a", "z=3; Path=/", "w=4; Path=/a/b", "nameless; Path=/"].enumerated() {
            _ = table.receive(field, from: origin, now: Double(time))
        }
        let field = table.field(for: origin, now: 9)
        #expect(field == "w=4; y=2; x=1; z=3; nameless")
    }

    @Test func acrossSitesOnlyWhatMayGoes() {
        var table = Self.table()
        let origin = Self.origin("https://h.test/")
        for field in ["s=1; SameSite=Strict", "l=2; SameSite=Lax", "n=3; SameSite=None; Secure", "d=4"] {
            _ = table.receive(field, from: origin, now: 0)
        }
        let same = table.field(for: origin, now: 1)
        let safe = table.field(for: origin, isSameSite: false, now: 1)
        let unsafe = table.field(for: origin, isSameSite: false, isSafeMethod: false, now: 1)
        #expect(same == "d=4; l=2; n=3; s=1" && safe == "d=4; l=2; n=3" && unsafe == "n=3")
    }

    @Test func aDomainWithTooManyLosesTheLongestUnusedFirst() {
        var limits = CookieTable.Limits()
        limits.perDomain = 3
        var table = Self.table(limits)
        let origin = Self.origin("https://h.test/")
        _ = table.receive("secure=1; Secure", from: origin, now: 0)
        _ = table.receive("short=1; Max-Age=1; Secure", from: origin, now: 0)
        _ = table.receive("old=1", from: origin, now: 2)
        // The expired one goes first, and then there is room.
        _ = table.receive("used=1; Path=/u", from: origin, now: 3)
        #expect(table.all.map(\.key.name) == ["old", "secure", "used"])
        _ = table.field(for: origin, now: 4)
        _ = table.receive("new=1", from: origin, now: 5)
        #expect(table.all.map(\.key.name) == ["new", "old", "secure"])
        _ = table.receive("other=1", from: Self.origin("https://other.test/"), now: 5)
        #expect(table.count == 4)
    }

    @Test func allTogetherHaveABound() {
        var limits = CookieTable.Limits()
        limits.total = 10
        var table = Self.table(limits)
        for number in 0..<50 { _ = table.receive("a=1", from: Self.origin("http://h\(number).test/"), now: Double(number)) }
        #expect(table.all.map(\.key.domain).sorted() == (40..<50).map { "h\($0).test" })
    }

    /// As sorting all of them each time would have it, whatever was used, replaced, removed or has expired meanwhile.
    @Test(arguments: 0..<20) func whatMakesRoomIsTheLongestUnused(_ seed: Int) {
        var random = seed &* 2_654_435_761 &+ 12_345
        func next(_ bound: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((UInt(bitPattern: random) >> 33) % UInt(bound))
        }
        var limits = CookieTable.Limits()
        (limits.total, limits.perDomain) = (20, 4)
        var table = Self.table(limits)
        for step in 0..<2_000 {
            let now = Double(step)
            let origin = Self.origin("https://h\(next(12)).test/")
            if next(3) == 0 {
                _ = table.field(for: origin, now: now)
                continue
            }
            let before = table.all
            let life = ["", "", "; Max-Age=30", "; Max-Age=0"][next(4)]
            let decision = table.receive("c\(next(8))=1\(next(2) == 0 ? "; Secure" : "")\(life)", from: origin, now: now)
            let gone = table.takeEvicted()
            guard case .stored(let key) = decision else {
                #expect(gone.isEmpty)
                continue
            }
            #expect(gone == Self.expected(before, key, isNew: !before.contains { $0.key == key }, limits, now), "step \(step)")
            #expect(table.count <= limits.total)
        }
    }

    private static func expected(
        _ before: [Cookie], _ key: Cookie.Key, isNew: Bool, _ limits: CookieTable.Limits, _ now: Double
    ) -> Set<Cookie.Key> {
        var others = before.filter { $0.key != key }
        func isFull(_ cookies: [Cookie]) -> Bool {
            cookies.count { $0.key.domain == key.domain } + 1 > limits.perDomain || cookies.count + 1 > limits.total
        }
        guard isFull(others) else { return [] }
        var gone = Set(others.filter { $0.isExpired(at: now) }.map(\.key))
        others.removeAll { gone.contains($0.key) }
        func worst(_ cookies: [Cookie]) -> Cookie? {
            cookies.min { left, right in
                if left.isSecure != right.isSecure { return !left.isSecure }
                return (left.lastUsed, left.created) < (right.lastUsed, right.created)
            }
        }
        func drop(_ cookie: Cookie?) {
            guard let cookie else { return }
            gone.insert(cookie.key)
            others.removeAll { $0.key == cookie.key }
        }
        while others.count(where: { $0.key.domain == key.domain }) + 1 > limits.perDomain {
            drop(worst(others.filter { $0.key.domain == key.domain }))
        }
        while others.count + 1 > limits.total { drop(worst(others)) }
        return gone
    }

    @Test func cookiesCanBeTakenOut() {
        var table = Self.table()
        _ = table.receive("a=1", from: Self.origin("http://h.test/"), now: 0)
        _ = table.receive("a=1", from: Self.origin("http://i.test/"), now: 0)
        table.removeAll { $0.key.domain == "h.test" }
        #expect(table.all.map(\.key.domain) == ["i.test"])
        table.removeAll()
        #expect(table.count == 0)
    }

    @Test func withoutAListOneLabelIsASuffix() {
        var table = CookieTable()
        let decision = table.receive("a=1; Domain=test", from: Self.origin("http://h.test/"), now: 0)
        #expect(decision == .refused(.publicSuffix))
    }

    @Test func anExpiredSecureCookieBlocksNobody() {
        var table = Self.table()
        _ = table.receive("a=1; Secure; Max-Age=10", from: Self.origin("https://example.com/"), now: 0)
        let early = table.receive("a=2", from: Self.origin("http://example.com/"), now: 9)
        #expect(early == .refused(.secureOverwritten))
        _ = table.receive("a=2", from: Self.origin("http://example.com/"), now: 11)
        #expect(table.all.map(\.value) == ["2"] && table.all.map(\.created) == [11])
    }

    @Test func whatMadeRoomIsNamedOnce() {
        var limits = CookieTable.Limits()
        limits.perDomain = 2
        var table = Self.table(limits)
        for (time, name) in ["a", "b", "c"].enumerated() {
            _ = table.receive("\(name)=1", from: Self.origin("https://example.com/"), now: Double(time))
        }
        #expect(table.takeEvicted().map(\.name) == ["a"])
        #expect(table.takeEvicted().isEmpty && table.count == 2)
    }

    @Test func anAddressWithADotBehindItIsAnAddress() {
        #expect(Self.sent("a=1; Domain=0.0.1", from: "http://127.0.0.1./", to: "http://127.0.0.1/") == nil)
    }
}
