import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// REQ-4
@Suite(.leavesNothing) struct AcceptLanguageTests {
    @Test func weightsFallByATenthToOneHalf() {
        let all = AcceptLanguage(tags: ["de-AT", "de", "en", "fr", "it", "es", "pt"])
        #expect(all?.fieldValue == "de-AT;q=1, de;q=0.9, en;q=0.8, fr;q=0.7, it;q=0.6, es;q=0.5")
        #expect(AcceptLanguage(tags: ["en"])?.fieldValue == "en;q=1")
    }

    @Test(
        arguments: [
            (["LANGUAGE": "de_AT:de:en", "LANG": "en_US.UTF-8"], "de-AT;q=1, de;q=0.9, en;q=0.8"),
            (["LANG": "de_DE.UTF-8@euro"], "de-DE;q=1"),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": "it"], "it;q=1"),
            (["LANG": "de_DE", "LC_MESSAGES": "fr_FR", "LC_ALL": ""], "fr-FR;q=1"),
            (["LANGUAGE": "", "LANG": "sr_RS@latin"], "sr-RS;q=1"),
            (["LANGUAGE": "en:C:en:de", "LANG": "C.UTF-8"], "en;q=1, de;q=0.9"),
            (["LANGUAGE": "pt_BR"], "pt-BR;q=1"),
        ] as [([String: String], String)])
    func theLocaleSaysIt(_ environment: [String: String], _ value: String) {
        #expect(AcceptLanguage(environment: environment)?.fieldValue == value)
    }

    @Test(
        arguments: [
            [:], ["LANG": "C"], ["LANG": "POSIX"], ["LANG": "C.UTF-8"], ["LC_ALL": "C", "LANG": "de_DE", "LANGUAGE": "de"],
            ["LANGUAGE": "::"],
            ["LANG": "de\r\nX: y"], ["LANG": "../../etc"], ["LANG": "a"], ["LANG": "1234"], ["LANG": "de__DE"], ["LANG": "déjà"],
            ["LANG": "abcdefghi"],
        ] as [[String: String]])
    func noLanguageIsNoField(_ environment: [String: String]) { #expect(AcceptLanguage(environment: environment) == nil) }

    /// RFC 5646 section 2.1: parts have eight characters at most, the first one two at least and no digits.
    @Test(arguments: ["ab", "zz", "ZZ", "Az", "abcdefgh", "de-1", "de-9", "de-12345678", "de-AT-x-09az"])
    func theseAreTags(_ tag: String) { #expect(AcceptLanguage(tags: [tag])?.tags == [tag]) }

    @Test(arguments: ["a", "abcdefghi", "de-", "-de", "de--AT", "de-123456789", "@@", "``", "[[", "{{", "a1", "de-a_b", "de-:", "de-/", ""])
    func theseAreNone(_ tag: String) { #expect(AcceptLanguage(tags: [tag]) == nil) }

    @Test func theProcessHasAnEnvironment() {
        var environment: [String: String] = [:]
        for name in ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"] { environment[name] = ProcessInfo.processInfo.environment[name] }
        #expect(AcceptLanguage.current == AcceptLanguage(environment: environment))
    }
}

/// REQ-5
@Suite(.leavesNothing) struct UserAgentTests {
    @Test func aProgramAndItsSystem() {
        let agent = UserAgent(product: "feedreader", version: "2.1", system: "Linux 6.1.0; x86_64")
        #expect(agent?.fieldValue == "feedreader/2.1 (Linux 6.1.0; x86_64)")
        #expect(UserAgent(product: "feedreader", system: nil)?.fieldValue == "feedreader")
        #expect(UserAgent.currentSystem.hasPrefix("Linux ") && UserAgent.currentSystem.contains("; "))
    }

    @Test func whatAFieldCannotHoldIsLeftOut() {
        #expect(UserAgent(product: "Ünicode App/\r\n", version: "1 (x)", system: "a)\r\nX: (b\\é")?.fieldValue == "nicodeApp/1x (aX: b)")
        #expect(UserAgent(product: "日本", version: "1") == nil)
        #expect(UserAgent(product: "a", system: "\u{1F} ~\u{7F}\u{80}")?.fieldValue == "a ( ~)")
        #expect(UserAgent(product: "a", version: "é", system: "é")?.fieldValue == "a")
    }
}

/// REQ-6
@Suite(.leavesNothing) struct BasicAuthorizationTests {
    @Test func itReplacesAndCanBeTakenOut() throws {
        var fields: HTTPFields = [.authorization: "Bearer x"]
        // RFC 7617 section 2
        try fields.setBasicAuthorization(user: "Aladdin", password: "open sesame")
        #expect(fields[fields: .authorization].map(\.value) == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        // RFC 7617 section 2.1
        try fields.setBasicAuthorization(user: "test", password: "123£")
        #expect(fields[.authorization] == "Basic dGVzdDoxMjPCow==")
        try fields.setBasicAuthorization(user: "", password: "a:b")
        #expect(fields[.authorization] == "Basic OmE6Yg==")
        fields.clearAuthorization()
        #expect(fields.isEmpty)
    }

    @Test(arguments: [("a:b", "c"), ("a\n", "c"), ("a", "c\r"), ("a", "\u{0}"), ("\u{85}", "")])
    func whatItCannotCarryIsRefused(_ user: String, _ password: String) {
        var fields = HTTPFields()
        do {
            try fields.setBasicAuthorization(user: user, password: password)
            Issue.record("accepted")
        } catch {
            #expect(error.code == .invalidHeader && fields.isEmpty)
        }
    }
}
