import CleanSlate
import ScopedNet
import Testing

/// RFC 6265bis sections 5.1.1 and 5.6.
@Suite(.leavesNothing) struct SetCookieTests {
    @Test func allAttributesAreRead() throws {
        let cookie = try #require(
            SetCookie(
                "SID=31d4d96e; Expires=Wed, 09 Jun 2021 10:18:14 GMT; max-age=60; DOMAIN=.Example.COM; Path=/a; Secure; HttpOnly; SameSite=lax"
            ))
        #expect(cookie.name == "SID" && cookie.value == "31d4d96e" && cookie.expires == 1_623_233_894 && cookie.maxAge == 60)
        #expect(cookie.domain == "example.com" && cookie.path == "/a" && cookie.isSecure && cookie.isHTTPOnly && cookie.sameSite == .lax)
    }

    @Test(arguments: [
        ("a=b", "a", "b"), ("a=b=c", "a", "b=c"), ("  a \t= \t b ; Secure", "a", "b"), ("a=", "a", ""), ("=b", "", "b"), ("b", "", "b"),
        ("a=\"b c\"", "a", "\"b c\""), ("a=b,c=d", "a", "b,c=d"), ("é=ü", "é", "ü"), ("a=b;;;", "a", "b"), ("a\t=b", "a", "b"),
    ])
    func namesAndValuesAreSplitAtTheFirstEqualsSign(_ field: String, _ name: String, _ value: String) throws {
        let cookie = try #require(SetCookie(field))
        #expect(cookie.name == name && cookie.value == value)
    }

    @Test func whatIsNotSaidIsNotSo() throws {
        let cookie = try #require(SetCookie("a=b"))
        #expect(!cookie.isSecure && !cookie.isHTTPOnly && cookie.sameSite == nil)
        #expect(cookie.expires == nil && cookie.maxAge == nil && cookie.domain == nil && cookie.path == nil)
    }

    @Test(arguments: [
        "", "=", " ; a=b", ";", ";a=b", "a=b\r\nX: y", "a=\u{0}", "a=b; Path=/\u{7F}", "a=b\n",
        String(repeating: "n", count: 4_000) + "=" + String(repeating: "v", count: 97),
    ])
    func whatMustBeIgnoredIs(_ field: String) { #expect(SetCookie(field) == nil) }

    @Test func theLargestPairIsTaken() {
        #expect(SetCookie(String(repeating: "n", count: 4_000) + "=" + String(repeating: "v", count: 96)) != nil)
    }

    @Test func ofTwoAttributesTheLastCountsAndUnknownOnesDoNot() throws {
        let cookie = try #require(
            SetCookie("a=b; Path=/x; Path=/y; Max-Age=1; Max-Age=; Expires=never; Priority=High; SameSite=None; SameSite=?"))
        #expect(cookie.path == "/y" && cookie.maxAge == 1 && cookie.expires == nil && cookie.sameSite == nil)
        let plain = try #require(SetCookie("a=b; Path=x; Domain=; Secure=no"))
        #expect(plain.path == nil && plain.domain == "" && plain.isSecure)
        let long = try #require(SetCookie("a=b; Path=/\(String(repeating: "p", count: 1024))"))
        #expect(long.path == nil)
        let longest = try #require(SetCookie("a=b; Path=/\(String(repeating: "p", count: 1023))"))
        #expect(longest.path?.utf8.count == 1024)
    }

    @Test(
        arguments: [
            ("0", 0), ("-1", -1), ("007", 7), ("99999999999999999999", .max), ("-99999999999999999999", .min), ("1.5", nil), ("+1", nil),
            ("-", nil), ("1 s", nil), ("", nil),
        ] as [(String, Int64?)])
    func agesAreWholeNumbers(_ text: String, _ seconds: Int64?) throws {
        let cookie = try #require(SetCookie("a=b; Max-Age=\(text)"))
        #expect(cookie.maxAge == seconds)
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777), ("6 november 94 8:49:37", 784_111_777), ("08:49:37/1994/6/NOV", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("1 Jan 1601 0:0:0", -11_644_473_600), ("1 Jan 69 0:0:0", 3_124_224_000),
            ("29 Feb 2000 12:00:00x y", 951_825_600), ("29 Feb 2001 12:00:00", nil), ("31 Apr 2001 1:1:1", nil), ("1 Jan 1600 0:0:0", nil),
            ("1 Jan 2000 24:00:00", nil), ("1 Jan 2000 1:60:0", nil), ("1 Jan 2000 1:0:60", nil), ("0 Jan 2000 1:0:0", nil),
            ("32 Jan 2000 1:0:0", nil), ("1 Jan 2000", nil), ("1 2000 1:0:0", nil), ("Jan 2000 1:0:0", nil), ("1 Jan 1:0:0", nil),
            ("", nil),
            ("1 Jan 70 0:0:0", 0), ("1 Jan 99 0:0:0", 915_148_800), ("1 Jan 100 0:0:0", nil), ("31 Jan 2000 1:0:0", 949_280_400),
            ("001 Jan 2000 1:0:0", nil), ("1 Jan 2000 1:2:3:4", 946_688_523), ("1 Jan 2000 1::2:3", nil), ("1 Jan 2000 1x:0:0", nil),
            ("1 Jan 2000 001:0:0", nil), ("1 Jan 2000 1:000:0", nil),
            ("1 Jan 20000 1:0:0", nil), ("1 Jan 2000 1:0:000", nil), ("1 Foo 2000 1:0:0", nil),
        ] as [(String, Int64?)])
    func datesAreReadAsBrowsersReadThem(_ text: String, _ seconds: Int64?) {
        #expect(CookieDate.secondsSince1970(text) == seconds)
    }
}
