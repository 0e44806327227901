import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// The fields of RFC 9111 section 5 that are numbers and dates.
@Suite(.leavesNothing) struct CacheFieldTests {
    private let now = CacheTable.start

    @Test(
        arguments: [
            (["7200"], 7200), (["0"], 0), (["007"], 7), (["7200, 0"], 7200), (["0,7200"], 0), (["7200", "0"], 7200), (["0", "7200"], 0),
            (["99999999999"], 2_147_483_648), ([" 5 "], 5), (["abc"], nil), (["-7200"], nil), (["7200.0"], nil), ([""], nil), ([], nil),
            (["+1"], nil), (["1 2"], nil), (["abc, 5"], nil),
        ] as [([String], Double?)])
    func theFirstMemberOfAgeCounts(_ lines: [String], _ seconds: Double?) {
        #expect(AgeField.parse(HTTPFields(lines: lines.map { "Age: " + $0 })) == seconds)
    }

    @Test func anAgeIsWrittenAsWholeSeconds() {
        #expect(AgeField.text(2.9) == "2")
        #expect(AgeField.text(-3) == "0")
        #expect(AgeField.text(1e300) == "2147483648")
    }

    @Test(arguments: [
        "Thu, 18 Aug 2050 02:01:18 GMT", "THU, 18 AUG 2050 02:01:18 gMT", "thu, 18 aug 2050 02:01:18 gmt", "Thu Aug 18 02:01:18 2050",
        "Thursday, 18-Aug-50 02:01:18 GMT", "thursday, 18-AUG-50 02:01:18 GMT", " Thu, 18 Aug 2050 02:01:18 GMT ",
    ])
    func expiresTakesTheThreeFormsInAnyCase(_ date: String) {
        let expires = ExpiresField(HTTPFields(lines: ["Expires: " + date]), now: now)
        #expect(expires == .at(WallTime(secondsSince1970: 2_544_400_878)))
    }

    @Test(arguments: [
        "0", "-1", "", "Thu, 18 Aug 2050 02:01:18 UTC", "Thu, 18 Aug 2050 02:01:18 AEST", "Thu, 18 Aug 50 02:01:18 GMT",
        "Thu 18 Aug 2050 02:01:18 GMT", "Thu, 18  Aug  2050 02:01:18 GMT", "Thu, 18-Aug-2050 02:01:18 GMT", "Thu, 18 Aug 2050 02.01.18 GMT",
        "Thu, 18 Aug 2050 2:01:18 GMT", "Thu, 18 Aug 2050 02:01:18 GMTx", "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT",
        "Thü, 18 Aug 2050 02:01:18 GMT", "2050-08-18T02:01:18Z",
    ])
    func anythingElseHasExpired(_ date: String) {
        #expect(ExpiresField(HTTPFields(lines: ["Expires: " + date]), now: now) == .invalid)
    }

    @Test func twoExpiresAreInvalidAndNoneIsAbsent() {
        let line = "Expires: Thu, 18 Aug 2050 02:01:18 GMT"
        #expect(ExpiresField(HTTPFields(lines: [line, line]), now: now) == .invalid)
        #expect(ExpiresField([:], now: now) == .absent)
    }

    @Test func contentLengthIsOneNumber() {
        func length(_ lines: String...) -> Int64? {
            CacheHead(status: 200, fields: HTTPFields(lines: lines.map { "Content-Length: " + $0 })).contentLength
        }
        #expect(length("5") == 5)
        #expect(length("5, 5") == 5)
        #expect(length("5", "5") == 5)
        #expect(length("5", "6") == nil)
        #expect(length("-5") == nil)
        #expect(length("99999999999999999999") == nil)
        #expect(length() == nil)
    }

    @Test func wallTimeIsAlwaysANumber() {
        #expect(WallTime(secondsSince1970: .nan).secondsSince1970 == 0)
        #expect(WallTime(secondsSince1970: .infinity).secondsSince1970.isFinite)
        #expect(WallTime(secondsSince1970: -.infinity).date.description == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(WallTime(secondsSince1970: 1.9).date == HTTPDate(secondsSince1970: 1))
        #expect(WallTime(secondsSince1970: -0.1).date == HTTPDate(secondsSince1970: -1))
        #expect(WallTime(HTTPDate(secondsSince1970: .max)).secondsSince1970.isFinite)
    }

    /// The first bytes that are no ASCII are no UTF-8 either.
    @Test(arguments: [UInt8(0x7F), 0x80, 0x81, 0xFF]) func everyByteIsOneScalar(_ byte: UInt8) {
        let text = [byte].withUnsafeBytes { FieldText.text($0) }
        #expect(text.unicodeScalars.map(\.value) == [UInt32(byte)])
    }

    @Test(arguments: [("\t a\n \t", "a\n"), ("\n a\t", "\n a"), (" \t ", ""), ("a", "a"), ("", "")])
    func spacesAndTabsAreTrimmedAndNothingElse(_ text: String, _ trimmed: String) { #expect(FieldText.trimmed(text[...]) == trimmed) }

    /// RFC 9110 section 5.5.
    @Test func valuesKeepBytesThatAreNoUTF8() {
        let bytes: [UInt8] = [0x22, 0xFC, 0x80, 0xFF, 0x22]
        let field = HTTPField(name: .eTag, value: bytes)
        let text = FieldText.text(field)
        let back = FieldText.field(.eTag, text).withUnsafeBytesOfValue { Array($0) }
        #expect(back == bytes)
        #expect(FieldText.field(.eTag, "日").value == "?")
    }

    @Test(
        arguments: [
            ("\"a\"", "a"), ("\"\"", ""), ("\"a\\\"b\"", "a\"b"), ("\"a\\\\\"", "a\\"), ("a", nil), ("\"", nil), ("\"a\\\"", nil),
            ("\"a\"b\"", nil),
        ] as [(String, String?)])
    func aQuotedStringIsOneOrNone(_ text: String, _ content: String?) {
        #expect(FieldText.unquoted(text[...]) == content)
    }

    @Test func aBackslashAtTheEndOfALineEndsNothingEarly() {
        #expect(FieldText.members("a=\"b\\") == ["a=\"b\\"])
        #expect(FieldText.members("a,\u{301}b") == ["a", "\u{301}b"])
    }
}

/// RFC 9110 section 8.8.
@Suite(.leavesNothing) struct EntityTagTests {
    @Test(
        arguments: [
            ("\"a\"", false, "a"), ("W/\"a\"", true, "a"), ("\"\"", false, ""), ("\"a,b\"", false, "a,b"), ("\"\u{fc}\"", false, "\u{fc}"),
            ("\"a\\\"", false, "a\\"), (" \"a\" ", false, "a"),
        ] as [(String, Bool, String)])
    func wellFormedTags(_ text: String, _ isWeak: Bool, _ opaque: String) {
        let tag = EntityTag(text)
        #expect(tag?.isWeak == isWeak)
        #expect(tag?.opaque == opaque)
    }

    @Test(arguments: ["", "a", "\"", "w/\"a\"", "W\"a\"", "W\\\"a\"", "\"a", "a\"", "\"a b\"", "\"a\"b\"", "*"])
    func whatIsNoTag(_ text: String) {
        #expect(EntityTag(text) == nil)
    }

    @Test func comparisonsFollowTheTableOfTheRFC() throws {
        let strong = try #require(EntityTag("\"1\""))
        let weak = try #require(EntityTag("W/\"1\""))
        let other = try #require(EntityTag("\"2\""))
        #expect(strong.matchesStrongly(strong))
        #expect(!weak.matchesStrongly(weak))
        #expect(!strong.matchesStrongly(weak))
        #expect(weak.matchesWeakly(strong))
        #expect(!strong.matchesWeakly(other))
        #expect(strong.description == "\"1\"")
        #expect(weak.description == "W/\"1\"")
    }

    @Test func listsAreSplitOutsideOfTags() {
        #expect(EntityTag.list("\"a,b\", W/\"c\\\", x, \"d\"").map(\.description) == ["\"a,b\"", "W/\"c\\\"", "\"d\""])
    }

    @Test func aTagWithoutQuotesIsKeptAsItCameAndIsNeverStrong() throws {
        let tag = try #require(EntityTag(of: HTTPFields(lines: ["ETag: abc"])))
        #expect(tag.description == "abc")
        #expect(!tag.matchesStrongly(tag))
        #expect(tag.matchesWeakly(tag))
        #expect(try !tag.matchesWeakly(#require(EntityTag("\"abc\""))))
        #expect(EntityTag(of: HTTPFields(lines: ["ETag: a b"])) == nil)
        #expect(EntityTag(of: HTTPFields(lines: ["ETag: \"a\"", "ETag: \"b\""])) == nil)
        #expect(EntityTag(of: HTTPFields(lines: ["ETag:"])) == nil)
    }
}
