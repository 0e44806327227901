import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct HostOverridesTests {
    private typealias Resolve = ConnectionSettings.ResolveOverride
    private typealias Connect = ConnectionSettings.ConnectOverride

    private func overrides(_ resolves: [Resolve] = [], _ connectsTo: [Connect] = []) -> HostOverrides {
        var settings = ConnectionSettings()
        (settings.resolves, settings.connectsTo) = (resolves, connectsTo)
        return HostOverrides(settings)
    }

    @Test func linesAreThoseOfLibcurl() throws {
        let resolves = [
            Resolve("api.example", to: ["127.0.0.1", "::1", "[2001:db8::5]"]), Resolve("*", port: 80, to: ["::ffff:10.0.0.1"]),
        ]
        let connectsTo = [
            Connect("www.example", port: 443, to: "canary.internal", toPort: 8443), Connect(to: "::1"), Connect("[2001:db8::5]", port: 80),
        ]
        let both = overrides(resolves, connectsTo)
        #expect(try both.resolveLines() == ["api.example:443:127.0.0.1,[::1],[2001:db8::5]", "*:80:10.0.0.1"])
        #expect(try both.connectLines() == ["www.example:443:canary.internal:8443", "::[::1]:", "[2001:db8::5]:80::"])
        #expect(!both.isEmpty && overrides().isEmpty)
    }

    @Test func argumentsAreCurls() throws {
        #expect(try Resolve(argument: "a.example:8443:10.0.0.1,::1") == Resolve("a.example", port: 8443, to: ["10.0.0.1", "::1"]))
        #expect(try Resolve(argument: "*:80:[::1]") == Resolve("*", port: 80, to: ["[::1]"]))
        #expect(try Connect(argument: "a.example:443:b.example:8443") == Connect("a.example", port: 443, to: "b.example", toPort: 8443))
        #expect(try Connect(argument: "::[::1]:") == Connect(to: "[::1]"))
        #expect(try Connect(argument: "[::1]:80::81") == Connect("[::1]", port: 80, toPort: 81))
    }

    @Test(arguments: [
        "", "a.example", "a.example:443", "a.example:443:", "a.example:https:10.0.0.1", "a.example:0:10.0.0.1", "a.example:65536:10.0.0.1",
        "a.example:443:b.example", "a.example:443:10.0.0.1,", "a.example:443:fe80::1%eth0", "127.0.0.1:80:127.0.0.2",
        "+a.example:443:10.0.0.1", "-a.example:443:", "-a.example:443:10.0.0.1",
        "bücher.example:443:10.0.0.1", "a b:443:10.0.0.1", "a\nb:443:10.0.0.1", "a.example:443:10.0.0.01",
    ]) func aResolveOverrideThatNamesNothing(_ text: String) {
        do throws(NetworkError) {
            _ = try Resolve(argument: text)
            Issue.record("'\(text)' was taken")
        } catch { #expect(error.code == .invalidOption && error.phase == .preparing) }
    }

    @Test(arguments: ["", "a.example:443", "a:1:b", "a:1:b:2:3", "a:x:b:2", "a:1:b:70000", "a b:1:c:2", "[::1:80:a:80", "a:1:b/c:2"])
    func aConnectOverrideThatNamesNothing(_ text: String) {
        do throws(NetworkError) {
            _ = try Connect(argument: text)
            Issue.record("'\(text)' was taken")
        } catch { #expect(error.code == .invalidOption && error.phase == .preparing) }
    }

    @Test func theFirstConnectOverrideThatMatchesCounts() {
        let both = overrides(
            [],
            [
                Connect("A.example", port: 443, to: "one"), Connect("a.example", to: "two", toPort: 2), Connect(port: 81, to: "three"),
                Connect("keep.example"), Connect("::1", port: 80, to: "four"),
            ])
        func place(_ host: String, _ port: Int) -> String? { both.destination(host: host, port: port).map { "\($0.host):\($0.port)" } }
        #expect(place("a.example", 443) == "one:443" && place("a.example", 80) == "two:2" && place("b.example", 81) == "three:81")
        #expect(place("[::1]", 80) == "four:80" && place("b.example", 80) == nil && place("keep.example", 80) == nil)
        #expect(overrides().destination(host: "a.example", port: 443) == nil)
    }

    @Test func anAddressOfItsOwnGoesBeforeTheWildcard() {
        let both = overrides([
            Resolve("a.example", port: 80, to: ["10.0.0.1"]), Resolve("*", port: 80, to: ["10.0.0.2"]),
            Resolve("A.example", port: 80, to: ["10.0.0.3"]),
        ])
        #expect(both.addresses(host: "a.example", port: 80) == ["10.0.0.3"])
        #expect(both.addresses(host: "b.example", port: 80) == ["10.0.0.2"])
        #expect(both.addresses(host: "a.example", port: 443) == nil && overrides().addresses(host: "a.example", port: 80) == nil)
    }
}
