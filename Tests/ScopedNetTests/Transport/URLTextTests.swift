import CleanSlate
import Testing

@testable import ScopedNet

/// RFC 3986 section 3.1, RFC 9110 section 4.2.1.
@Suite(.leavesNothing) struct URLTextTests {
    @Test(arguments: [
        ("http://h", "http"), ("HTTPS:x", "HTTPS"), ("a+b-c.1:x", "a+b-c.1"), ("mailto:x", "mailto"), ("z:", "z"), ("Z:", "Z"),
        ("A9:", "A9"),
        ("", nil), ("x", nil), (":x", nil), ("1a:x", nil), ("a/b:c", nil), ("?a:b", nil), ("a b:c", nil), ("\u{E9}:x", nil), ("[a:b", nil),
        ("@:x", nil), ("a{:x", nil),
    ]) func schemesStandBeforeTheFirstColon(text: String, scheme: String?) {
        #expect(URLText.scheme(of: text).map { String($0) } == scheme)
    }

    @Test(arguments: [
        ("http://h", false), ("http://h/", false), ("HTTP://h?x", false), ("https://[::1]/", false), ("http://u@h", false), ("x", false),
        ("", false),
        ("//h", false), ("///h", false), ("ftp:///x", false), ("httpx:/x", false), ("htt:/x", false), ("http:", true), ("http:/", true),
        ("http://", true), ("http:///", true), ("http:///h/x", true), ("hTTp:/h", true), ("https:h", true), ("https://?x", true),
        ("https://#x", true),
    ]) func anHTTPURLHasAHost(text: String, lacksHost: Bool) {
        #expect(URLText.lacksHost(text) == lacksHost)
    }

    @Test(arguments: [
        ("ftp://h", true), ("data:,x", true), ("javascript:alert(1)", true), ("file:///x", true), ("x:", true), ("localhost:8080/x", false),
        ("localhost:0", false), ("localhost:9", false), ("x:/", true), ("x::", true), ("http:x", false), ("HTTPS:x", false),
        ("httpd:x", true),
        ("http", false), ("/a:b", false),
    ]) func aHostAndItsPortAreNoScheme(text: String, isOther: Bool) {
        #expect(URLText.hasOtherScheme(text) == isOther)
    }

    @Test(arguments: [
        ("", false), ("?", true), ("a?", true), ("a??", false), ("a?b", false), ("a?#b", true), ("a#?", false), ("http://h/?#?", true),
    ]) func anEmptyQueryHasItsMark(text: String, isEmpty: Bool) {
        #expect(URLText.endsInEmptyQuery(text) == isEmpty)
    }

    @Test(arguments: [
        ("http://h/a", "http://h/a"), ("http://u:p@h/a", "http://***@h/a"), ("http://u:p%40@h/@x", "http://***@h/@x"),
        ("https://u@h?a@b", "https://***@h/?a@b"), ("/users/@me", "/users/@me"), ("?to=a@b", "?to=a@b"), ("//u:p@h/x", "//***@h/x"),
        ("u:p@h", "(malformed URL)"), ("http://u:p@ /", "(malformed URL)"), ("me@h/x@y", "***@h/x@y"), ("", ""),
    ]) func userinfoIsNotShown(text: String, shown: String) {
        #expect(URLText.maskingUserinfo(text) == shown)
    }
}
