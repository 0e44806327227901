import CleanSlate
import Testing

@testable import ScopedNet

/// REQ-1, REQ-18, YTK-2
@Suite(.leavesNothing) struct RequestURLTests {
    @Test(arguments: ["http://user:hunter2@host/a@b", "http://user:hunter2@\u{301}host/", "http://user:hunter2@host/@\u{301}"])
    func aDescriptionShowsNoPassword(_ text: String) {
        guard let url = try? RequestURL(text) else { return }
        #expect(url.hasCredentials)
        #expect(!url.description.contains("hunter2"), "\(url.description)")
    }

    @Test(arguments: ["http://user:hunter2@ho st/", "gopher://user:hunter2@host", "http://user:hunter2@\u{301}:x/"])
    func anErrorShowsNoPassword(_ text: String) throws {
        let error = #expect(throws: NetworkError.self) { _ = try RequestURL(text) }
        #expect(try !"\(#require(error))".contains("hunter2"))
        #expect(!RequestURL.placeholder(text).description.contains("hunter2"))
    }

    /// libcurl converts by the locale, and the tests' is "C"; in another it works, and that is fine, too.
    @Test func aHostBeyondASCIIIsRefusedWithAdvice() throws {
        do throws(NetworkError) { _ = try RequestURL("http://b\u{FC}cher.test/") } catch {
            #expect(error.code == .invalidURL)
            #expect(error.message.contains("xn--"))
        }
        #expect(try RequestURL("http://xn--bcher-kva.test/").host == "xn--bcher-kva.test")
    }

    /// Two spellings of one host would have two pools, two budgets and two sets of credentials.
    @Test func aHostIsWhatItWillBeUsedAs() throws {
        #expect(try RequestURL("http://1%31/").host == RequestURL("http://11/").host)
        #expect(try RequestURL("http://ex%61mple.com/a%20b?c=%2F").string == "http://example.com/a%20b?c=%2F")
        #expect(try RequestURL("HTTP://Example.COM:80/").origin == RequestURL("http://example.com/").origin)
    }

    /// A crawler visits a million hosts and keeps none.
    @Test func originsAreForgottenWithTheirURLs() throws {
        let kept = try RequestURL("http://kept.originsAreForgotten.test/a")
        var id: UInt32 = 0
        for number in 0..<3_000 {
            let url = try RequestURL("http://\(number).originsAreForgotten.test/")
            #expect(url.originID > id)
            id = url.originID
        }
        #expect(OriginKey.count < 2_000, "other tests have some at the same time")
        #expect(try RequestURL("http://kept.originsAreForgotten.test/b").originID == kept.originID)
    }

    /// RFC 3986 section 5.4.1, the reference that libcurl resolves otherwise.
    @Test func aFragmentAloneIsTheBase() throws {
        let base = try RequestURL("http://a/b/c/d;p?q")
        let (fragment, empty) = (try RequestURL("#s", relativeTo: base), try RequestURL("", relativeTo: base))
        #expect(fragment.string == "http://a/b/c/d;p?q" && empty.string == fragment.string)
    }

    /// RFC 9110 section 4.2.1; libcurl takes the path for the host.
    @Test(arguments: ["http:///host/x", "http:/host/x", "http:host", "HTTPS:///host", "http://?x"])
    func aURLWithoutAHostIsRefused(text: String) throws {
        let base = try RequestURL("http://a/b")
        for other in [nil, base] {
            let error = #expect(throws: NetworkError.self) { _ = try RequestURL(text, relativeTo: other) }
            #expect(error?.code == .invalidURL)
        }
    }

    /// Browsers read `one` for the host, and libcurl `two`.
    @Test(arguments: [#"http://one\@two/"#, #"https://one\two/"#, #"//one\@two"#, #"http://a\b:c@two/x"#])
    func aBackslashBeforeThePathIsRefused(text: String) throws {
        let base = try RequestURL("http://a/b")
        let error = #expect(throws: NetworkError.self) { _ = try RequestURL(text, relativeTo: base) }
        #expect(error?.code == .invalidURL && error?.message.contains("%5C") == true)
    }

    @Test func aBackslashBehindTheHostIsSent() throws {
        let url = try RequestURL(#"http://one/a\b?c\d"#)
        #expect(url.host == "one" && url.string.contains("b?c"))
    }

    @Test func spacesOfALocationAreEncodedWhereverTheyAre() throws {
        let base = try RequestURL("http://host/a/b")
        #expect(try RequestURL("c d?e f", relativeTo: base, isLenient: true).string == "http://host/a/c%20d?e%20f")
        #expect(try !RequestURL("http://u ser@host/", relativeTo: base, isLenient: true).string.contains(" "))
        #expect(throws: NetworkError.self) { _ = try RequestURL("http://ho st/", relativeTo: base, isLenient: true) }
        #expect(throws: NetworkError.self) { _ = try RequestURL("http://host/a b") }
    }
}
