import CleanSlate
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ShownFieldTests {
    @Test(arguments: [
        ("http://ann:secret@host/", "http://***@host/"), ("//ann:secret@host/", "//***@host/"), ("https://ann@host", "https://***@host"),
        ("<http://a:b@h/>; rel=next, <http://c:d@i/>", "<http://***@h/>; rel=next, <http://***@i/>"),
        ("5; url=http://a:b@h/c", "5; url=http://***@h/c"),
        ("http://r/?to=http://a:b@h/", "http://r/?to=http://***@h/"), ("http://a,http://b:c@h/", "http://a,http://***@h/"),
        ("\"http://a:b@[::1]:80/\" x@y", "\"http://***@[::1]:80/\" x@y"), ("http://a:p@q@h/", "http://***@h/"),
        ("http://ann:s/cret@host/", "http://***@host/"), ("///a:b@h", "///***@h"), ("http://a:b@h", "http://***@h"),
        ("http://ä:ö@h/ü", "http://***@h/ü"),
    ])
    func userinfoIsMaskedWhereverItStands(_ value: String, _ shown: String) {
        let (once, twice) = (ShownField.withoutUserinfo(value), ShownField.withoutUserinfo(ShownField.withoutUserinfo(value)))
        #expect(once == shown && twice == shown)
    }

    /// Longer than a field may be, and made to be looked at again from each of its slashes: hours, were it so.
    @Test(arguments: ["@ ", "", "a@ "], ["", "@", "[@"]) func aHostileValueIsReadOnce(_ first: String, _ last: String) {
        let middle = String(repeating: "//x", count: 400_000)
        let shown = ShownField.withoutUserinfo(first + middle + last)
        #expect(shown.hasPrefix(first + "//") && shown.utf8.count <= (first + middle + last).utf8.count + 3)
    }

    @Test(arguments: [
        "", "@", "ann@example.org", "http://host/", "http://host/@ann", "http://host:80/a@b", "http://host?a@b", "http://host#a@b",
        "http://[::1]:80/@", "text/html // ann@example.org", "a/b@c", "http://host/ ann@example.org", "/@ann",
    ])
    func whatIsNoUserinfoStays(_ value: String) {
        let shown = ShownField.withoutUserinfo(value)
        #expect(shown == value)
    }

    @Test(arguments: [
        ("X-Api-Key", "hunter2", "***"), ("Set-Cookie", "a=b", "***"), ("Authorization", "Basic eA==", "Basic ***"),
        ("Location", "http://a:b@h/?token=x&y=z", "http://***@h/?token=***&y=z"), ("Location", "//a:b@h/", "//***@h/"),
        ("Link", "<http://a:b@h/>", "<http://***@h/>"), ("Accept", "*/*", "*/*"), ("Set-Cookie2", "a", "***"),
        ("Link", "</a?api_key=1>; rel=next, <b?x=1&token=2>", "</a?api_key=***>; rel=next, <b?x=1&token=***>"),
        ("Refresh", "0; url=https://h/?password=p&x=1", "0; url=https://h/?password=***&x=1"), ("SourceMap", "/m?sig=1#b", "/m?sig=***#b"),
        ("Cache-Control", "max-age=3; x=1", "max-age=3; x=1"), ("Location", "/in?token=1&next=https://h/", "/in?token=***&next=https://h/"),
    ])
    func secretsOfAllKindsAreMasked(_ name: String, _ value: String, _ expected: String) {
        let shown = ShownField.value(value, of: name)
        #expect(shown == expected)
    }

    @Test(arguments: ["X-Api-Key", "x-auth-token", "X-Secret", "Authorization", "Proxy-Authorization", "Cookie", "Private-Token"])
    func theNamesOfSecretsAreKnown(_ name: String) { #expect(ShownField.isSecret(name)) }

    @Test(arguments: ["Accept", "Location", "Referer", "X-Request-Id", "User-Agent"])
    func otherNamesAreNone(_ name: String) { #expect(!ShownField.isSecret(name)) }
}
