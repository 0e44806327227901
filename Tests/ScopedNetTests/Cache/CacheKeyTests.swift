import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

/// RFC 9111 section 2, RFC 9110 section 4.2.3 (YTK-16, defect 29).
@Suite(.leavesNothing) struct CacheKeyTests {
    private func key(_ url: String, _ method: HTTPRequest.Method = .get, _ change: (inout CachePolicy) -> Void = { _ in }) -> CacheKey? {
        var policy = CachePolicy.standard
        change(&policy)
        return CacheTable(policy).strategy.key(for: CacheRequest(method: method, url: url))
    }

    @Test(arguments: [
        ("http://a.test", "http://a.test/"), ("HTTP://A.Test/", "http://a.test/"), ("http://a.test:80/", "http://a.test/"),
        ("http://a.test:/x", "http://a.test/x"), ("https://a.test:443/x", "https://a.test/x"),
        ("https://a.test:80/x", "https://a.test:80/x"),
        ("http://a.test/x#y", "http://a.test/x"), ("http://a.test#y", "http://a.test/"), ("http://a.test?q", "http://a.test/?q"),
        ("http://[::1]:8080/x", "http://[::1]:8080/x"), ("http://a.test/A%7e?B=C", "http://a.test/A%7e?B=C"),
        ("http://a.test/x?", "http://a.test/x?"),
    ])
    func urisAreNormalisedWhereTheyMeanTheSame(_ url: String, _ uri: String) {
        #expect(key(url)?.uri == uri)
        #expect(key(url)?.text == "0: GET " + uri)
    }

    @Test(arguments: ["", "/x", "a.test", "http:///x", "http://a b/", "http://a@b@c/", "mailto:x"])
    func whatIsNoAbsoluteURLHasNoKey(_ url: String) {
        #expect(key(url) == nil)
    }

    @Test(arguments: [
        ("http://a.test/x", "http://a.test/X"), ("http://a.test/x", "http://a.test/x?"), ("http://a.test/~", "http://a.test/%7E"),
        ("http://a.test/x?a=1&b=2", "http://a.test/x?b=2&a=1"), ("http://a.test/", "https://a.test/"),
        ("http://a.test/x", "http://a.test/x/"),
        ("http://u:p@a.test/", "http://a.test/"), ("http://u:p@a.test/", "http://v:p@a.test/"),
        ("http://a.test/é", "http://a.test/e\u{301}"),
    ])
    func pathQueryAndAccountAreLeftAsTheyAre(_ one: String, _ other: String) {
        #expect(key(one) != key(other))
    }

    @Test func credentialsAreNotInTheKey() throws {
        let text = try #require(key("http://user:secret@a.test/")?.text)
        #expect(!text.contains("secret"))
        #expect(!text.contains("user:"))
    }

    @Test func partitionsAreApartWhateverTheyAreCalled() {
        let one = key("http://a.test/") { $0.partition = "a" }
        let other = key("http://a.test/") { $0.partition = "b" }
        #expect(one != other)
        let tricky = key("http://a.test/") { $0.partition = "a GET x" }
        #expect(tricky?.text == "7:a GET x GET http://a.test/")
    }

    @Test func headAndUnsafeMethodsHaveTheKeyOfGet() {
        let keys = [HTTPRequest.Method.get, .head, .post, .delete].map { key("http://a.test/", $0) }
        #expect(Set(keys).count == 1)
    }

    @Test func aCustomKeyIsHandedTheOneThatWouldBeTaken() {
        let key = key("HTTP://A.test:80/x?session=1") { policy in
            policy.customKey = CachePolicy.CustomKey("no session") { _, uri in String(uri.prefix { $0 != "?" }) }
        }
        #expect(key?.uri == "http://a.test/x")
    }

    @Test func additionalMethodsHaveKeysOfTheirOwn() {
        let custom = CachePolicy.CustomKey("with body") { method, uri in "\(method) \(uri) body" }
        let post = key("http://a.test/", .post) {
            $0.customKey = custom
            $0.additionalMethods = [.post]
        }
        #expect(post?.text == "0: POST POST http://a.test/ body")
        let withoutCustom = key("http://a.test/", .post) { $0.additionalMethods = [.post] }
        #expect(withoutCustom?.text == "0: GET http://a.test/")
    }

    @Test func customKeysAreComparedByName() {
        let one = CachePolicy.CustomKey("a") { $1 }
        #expect(one == CachePolicy.CustomKey("a") { $1 + "x" })
        #expect(one != CachePolicy.CustomKey("b") { $1 })
        #expect(Set([one, CachePolicy.CustomKey("a") { $1 }]).count == 1)
    }

    /// RFC 3986 section 5.4.
    @Test(arguments: [
        ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"), ("g/", "http://a/b/c/g/"), ("/g", "http://a/g"), ("//g", "http://g/"),
        ("?y", "http://a/b/c/d;p?y"), ("g?y", "http://a/b/c/g?y"), ("", "http://a/b/c/d;p?q"), (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"), ("../..", "http://a/"), ("../../../g", "http://a/g"), ("/./g", "http://a/g"), ("/../g", "http://a/g"),
        ("./g/.", "http://a/b/c/g/"), ("g/./h", "http://a/b/c/g/h"), ("g/../h", "http://a/b/c/h"), ("http://x/y/../z", "http://x/z"),
        ("#s", "http://a/b/c/d;p?q"), ("g?y/../x", "http://a/b/c/g?y/../x"), ("g;x=1/../y", "http://a/b/c/y"), ("/a:b", "http://a/a:b"),
    ])
    func referencesAreResolved(_ reference: String, _ url: String) throws {
        let base = try #require(CacheURL("http://a/b/c/d;p?q"))
        #expect(base.resolving(reference)?.text == url)
    }

    @Test(arguments: ["mailto:x", "a b", "http://", "\u{0}", "http:g"])
    func whatIsNoReferenceIsNone(_ reference: String) throws {
        let base = try #require(CacheURL("http://a/b"))
        #expect(base.resolving(reference) == nil)
    }
}
