import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct HostPatternsTests {
    private func table(_ patterns: [String]) throws -> HostPatterns<String> {
        try HostPatterns(Dictionary(uniqueKeysWithValues: patterns.map { ($0, $0) }))
    }

    @Test func theClosestEntryCounts() throws {
        let table = try table(["example.com", "*.example.com", "*.a.example.com", "b.a.example.com", "*.com"])
        let found = [
            "example.com", "x.example.com", "a.example.com", "x.a.example.com", "x.y.a.example.com", "b.a.example.com", "x.b.a.example.com",
            "other.com", "com", "notexample.com", "example.org",
        ].map { table.closest(to: $0) }
        #expect(
            found == [
                "example.com", "*.example.com", "*.example.com", "*.a.example.com", "*.a.example.com", "b.a.example.com", "*.a.example.com",
                "*.com", nil, "*.com", nil,
            ])
    }

    @Test func aDomainIsNotItsOwnName() throws {
        let table = try table(["*.example.com"])
        #expect(table.closest(to: "example.com") == nil)
        #expect(table.closest(to: "com") == nil)
        #expect(table.closest(to: "") == nil)
    }

    @Test func caseAndTheLastDotMakeNoDifference() throws {
        let table = try table(["Example.COM.", "*.Test."])
        #expect(table.closest(to: "example.com") != nil)
        #expect(table.closest(to: "EXAMPLE.com.") != nil)
        #expect(table.closest(to: "a.TEST.") != nil)
    }

    @Test func addressesAreComparedByTheirBytes() throws {
        let table = try table(["192.0.2.1", "2001:db8::1", "::ffff:192.0.2.9"])
        #expect(table.closest(to: "192.0.2.1") == "192.0.2.1")
        #expect(table.closest(to: "[2001:db8:0:0:0:0:0:1]") == "2001:db8::1")
        #expect(table.closest(to: "192.0.2.9") == "::ffff:192.0.2.9")
        #expect(table.closest(to: "192.0.2.2") == nil)
    }

    @Test(arguments: [
        "", ".", "*", "*.", "**.a", "a.*", "*a.test", "a..b", ".a", "a.test:1", "http://a", "a/b", "a b", "\u{FC}.test", "\u{212A}.test",
        "1.2.3", "0x7f.1",
        "*.1", "[::1", "fe80::1%eth0", String(repeating: "a", count: 64) + ".test",
        Array(repeating: "abc", count: 64).joined(separator: "."),
    ])
    func whatIsNoPatternIsRefused(_ text: String) {
        #expect(throws: HostPatterns<String>.Failure.noPattern(text)) { try table([text]) }
    }

    @Test func twoSpellingsOfOneHostAreRefused() {
        #expect(throws: HostPatterns<String>.Failure.twice("a.test")) { try table(["A.test", "a.test"]) }
        #expect(throws: HostPatterns<String>.Failure.twice("[::1]")) { try table(["::1", "[::1]"]) }
    }

    // SEC-6
    @Test func pinnedHostsAreNotReachedOverHTTP() throws {
        var policy = SecurityPolicy()
        policy.hosts["pinned.test"] = .publicKeys(["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="])
        policy.hosts["report.test"] = .publicKeys([], mode: .reportOnly)
        policy.hosts["*.pinned.test"] = .certificates([])
        policy.hosts["free.pinned.test"] = .system
        let secured = try SecuredHosts(policy)
        func code(_ url: String) throws -> NetworkError.Code? {
            do throws(NetworkError) { try secured.check(RequestURL(url)) } catch { return error.code }
            return nil
        }
        for url in ["http://pinned.test/", "http://PINNED.test./", "http://a.pinned.test:443/"] {
            #expect(try code(url) == .insecureConnection)
        }
        for url in ["https://pinned.test/", "http://report.test/", "http://free.pinned.test/", "http://other.test/"] {
            #expect(try code(url) == nil)
        }
        let all = try SecuredHosts(SecurityPolicy(.certificates([])))
        #expect(throws: NetworkError.self) { try all.check(RequestURL("http://any.test/")) }
    }
}
