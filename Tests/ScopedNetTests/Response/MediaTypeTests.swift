import CleanSlate
import Testing

@testable import ScopedNet

/// RFC 9110 section 8.3.1, and what servers make of it.
@Suite(.leavesNothing) struct MediaTypeTests {
    @Test func typeSubtypeAndParametersAreRead() throws {
        let type = try #require(MediaType("Text/HTML; Charset=\"utf-8\"; q=\"a\\\"b;c\""))
        #expect(type.type == "text" && type.subtype == "html" && type.essence == "text/html")
        #expect(type["charset"] == "utf-8" && type["CHARSET"] == "utf-8")
        #expect(type["q"] == "a\"b;c")
        #expect(type.suffix == nil)
    }

    @Test(arguments: [
        ("application/problem+json", "json"), ("image/svg+xml; charset=utf-8", "xml"), ("a/b+c+d", "d"), ("a/b+", nil), ("a/b", nil),
    ]) func theStructuredSyntaxIsWhatFollowsTheLastPlus(text: String, suffix: String?) throws {
        #expect(try #require(MediaType(text)).suffix == suffix)
    }

    @Test(arguments: ["", "text", "text/", "/html", "text html", "text/html x", "te xt/html", ",", "ä/b", "*", ";charset=x"])
    func whatDoesNotBeginWithATypeIsNone(text: String) { #expect(MediaType(text) == nil) }

    /// RES-3: two fields are joined with a comma; a proxy adds one of its own.
    @Test(arguments: [
        ("a/b, c/d", "c/d"), ("a/b, a/b", "a/b"), ("text/html,", "text/html"), ("a/b; x=\"c,d/e\"", "a/b"), ("a/b; x=\"\\\",c/d\"", "a/b"),
        ("a/b, nonsense", "a/b"), ("a/b;x=y,c/d;z=1", "c/d"),
    ]) func ofSeveralTheLastOneCounts(text: String, essence: String) throws { #expect(try #require(MediaType(text)).essence == essence) }

    /// Each of them leaves the others alone.
    @Test(arguments: [
        "a/b; x; charset=k", "a/b;; charset=k ;", "a/b; x=; charset=k", "a/b; =y; charset=k", "a/b; x=a b; charset=k",
        "a/b;\tcharset=k\t; x=\"open", "a/b; charset=k; charset=l", "a/b; x=\"y\"z; charset=k", "  a/b  ;charset=k",
    ]) func malformedParametersAreLeftOut(text: String) throws {
        let type = try #require(MediaType(text))
        #expect(type.parameters == ["charset": "k"])
    }

    @Test(arguments: ["a/b; x=\"open", "a/b; x=\"open\\", "a/b; x=\"open\\\""]) func aQuoteThatIsNeverClosedIsNoValue(text: String) throws {
        #expect(try #require(MediaType(text)).parameters.isEmpty)
    }

    @Test(arguments: ["text/plain", "a/b; charset=utf-8; x=\"a b\"", "a/b; x=\"\"", "a/b; x=\"q\\\"\\\\\""])
    func theDescriptionReadsAsTheSame(text: String) throws {
        let type = try #require(MediaType(text))
        #expect(type.description == text)
        #expect(MediaType(type.description) == type)
    }

    /// A quote and the mark behind it are one `Character`, which is no quote, and two scalars, of which one is.
    @Test func quotesWithMarksAreQuotes() throws {
        let escaped = "a/b; x=\"1\\\"\u{301}; y=2\""
        let value = "1\"\u{301}; y=2"
        let type = try #require(MediaType(escaped))
        #expect(type.parameters == ["x": value])
        #expect(type.description == escaped)
        #expect(MediaType(type.description) == type)
        let marked = "a/b; x=\"\u{301}1\"; y=\u{301}2, c/d;\u{301}"
        let separators = try #require(MediaType(marked))
        #expect(separators.essence == "c/d")
        let backslash = "a/b; x=\"\\\\\u{301}\""
        let slashed = try #require(MediaType(backslash))
        #expect(slashed.description == backslash)
    }

    /// A semicolon in quotes ends no parameter, wherever the quote begins.
    @Test func whatIsMalformedEndsBehindItsQuotes() throws {
        let type = try #require(MediaType("a/b; x y=\"1; z=2\"; charset=k"))
        #expect(type.parameters == ["charset": "k"])
    }

    @Test func aResponseKnowsItsType() {
        #expect(ResponseHead(status: 200, headers: [.contentType: "Text/Plain; charset=x"]).mimeType == "text/plain")
        #expect(ResponseHead(status: 200, headers: [.contentType: "nonsense"]).contentType == nil)
        #expect(ResponseHead(status: 200).contentType == nil)
    }
}
