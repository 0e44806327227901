import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct AccessPolicyTests {
    private func check(
        _ url: String, _ expected: NetworkError.Code?, _ location: SourceLocation = #_sourceLocation, change: (inout AccessPolicy) -> Void
    ) throws {
        var policy = AccessPolicy()
        change(&policy)
        let target = try RequestURL(url)
        var found: NetworkError.Code?
        do throws(NetworkError) { try policy.check(target) } catch {
            #expect(error.phase == .preparing && !error.mayHaveReachedServer, sourceLocation: location)
            found = error.code
        }
        #expect(found == expected, "\(url)", sourceLocation: location)
    }

    @Test func withoutRulesAllMayBeAsked() throws {
        for url in ["http://a/", "https://a:1/", "http://[::1]/", "http://127.0.0.1:65535/"] {
            try check(url, nil) { _ in }
        }
    }

    @Test func httpsOnlyIsASetOfSchemes() throws {
        var policy = AccessPolicy()
        policy.httpsOnly = true
        #expect(policy.schemes == .https && policy.httpsOnly)
        policy.httpsOnly = false
        #expect(policy == AccessPolicy())
        try check("http://a/", .insecureConnection) { $0.httpsOnly = true }
        try check("https://a/", nil) { $0.httpsOnly = true }
        try check("https://a/", .accessRefused) { $0.schemes = .http }
        try check("http://a/", .accessRefused) { $0.schemes = [] }
    }

    @Test func portsCountTheDefaultsToo() throws {
        try check("https://a/", nil) { $0.ports = [443] }
        try check("http://a/", .accessRefused) { $0.ports = [443] }
        try check("https://a:8443/", nil) { $0.ports = [443, 8443] }
        try check("https://a/", .accessRefused) { $0.ports = [] }
    }

    @Test func deniedHostsGoBeforeAllowedOnes() throws {
        let change: (inout AccessPolicy) -> Void = {
            $0.allowedHosts = ["*.example.com", "example.org"]
            $0.deniedHosts = ["admin.example.com"]
        }
        try check("https://api.example.com/", nil, change: change)
        try check("https://EXAMPLE.org./", nil, change: change)
        try check("https://admin.example.com/", .accessRefused, change: change)
        try check("https://ADMIN.example.com./", .accessRefused, change: change)
        try check("https://example.com/", .accessRefused, change: change)
        try check("https://example.com.evil.test/", .accessRefused, change: change)
        try check("https://example.com@evil.test/", .accessRefused, change: change)
        try check("https://a/", .accessRefused) { $0.allowedHosts = [] }
    }

    /// An address has many spellings, and one meaning.
    @Test(arguments: [
        "http://127.0.0.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://%31%32%37.0.0.1/",
    ])
    func aDeniedAddressIsDeniedInEverySpelling(_ url: String) throws {
        try check(url, .accessRefused) { $0.deniedHosts = ["127.0.0.1"] }
    }
}

@Suite(.leavesNothing) struct HostPatternTests {
    @Test(arguments: [
        ("example.com", "example.com", true), ("Example.COM.", "example.com", true), ("example.com", "example.com.", true),
        ("example.com", "www.example.com", false), ("example.com", "badexample.com", false), ("*.example.com", "www.example.com", true),
        ("*.example.com", "a.b.example.com.", true), ("*.example.com", "example.com", false), ("*.example.com", "badexample.com", false),
        ("*.example.com", ".example.com", false), ("*", "anything", true), ("*", "[::1]", true), ("*.", "a", false), ("*.", "a.", false),
        ("", "a", false), ("[::1]", "[::1]", true), ("::1", "[0:0::1]", true), ("::1", "[::2]", false), ("a*b", "axb", false),
        ("*.com", "example.com", true), ("::ffff:1.2.3.4", "1.2.3.4", true),
    ])
    func whatAPatternMatches(_ pattern: String, _ host: String, _ isMatch: Bool) {
        #expect(AccessPolicy.HostPattern(pattern).matches(host) == isMatch)
        #expect(AccessPolicy.HostPattern(pattern).description == pattern)
    }

    /// To Swift, a dot with an accent behind it is another letter.
    @Test func bytesAreCompared() {
        let accented = "a.\u{301}b"
        let (same, other) = (AccessPolicy.HostPattern("*.\u{301}b"), AccessPolicy.HostPattern("*.b"))
        #expect(same.matches(accented) && !other.matches(accented))
    }
}
