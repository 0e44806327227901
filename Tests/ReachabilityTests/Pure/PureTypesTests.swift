import CleanSlate
import Glibc
import SystemSupport
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct IPAddressTests {
    @Test(arguments: ["0.0.0.0", "192.0.2.1", "255.255.255.255", "::", "::1", "fe80::1", "2001:db8::ff:0:1"])
    func textAndBytesGoBothWays(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == text)
        #expect(IPAddress(bytes: address.bytes) == address)
    }

    @Test(arguments: ["", "1.2.3", "1.2.3.4.5", "256.0.0.1", ":::", "fe80::1%", "1.2.3.4%lo", "[::1", "example.org"])
    func otherTextIsNone(_ text: String) { #expect(IPAddress(text) == nil) }

    @Test func onlyAllZeroesAreUnspecified() {
        for text in ["::", "0.0.0.0"] { #expect(IPAddress(text)?.isUnspecified == true) }
        for text in ["::1", "1::", "0.0.0.1"] { #expect(IPAddress(text)?.isUnspecified == false) }
    }

    @Test func bracketsComeInPairs() {
        #expect(IPAddress("[::1]") == IPAddress("::1"))
        for text in ["[::1", "::1]"] { #expect(IPAddress(text) == nil) }
    }

    @Test func ranges() throws {
        #expect(try #require(IPAddress("169.254.3.4")).isLinkLocal)
        #expect(try #require(IPAddress("febf::1")).isLinkLocal)
        #expect(try !#require(IPAddress("fec0::1")).isLinkLocal)
        #expect(try #require(IPAddress("127.8.8.8")).isLoopback)
        #expect(try #require(IPAddress("ff02::1")).isMulticast)
        #expect(try #require(IPAddress("::ffff:10.0.0.1")) == IPAddress(10, 0, 0, 1))
        #expect(try #require(IPAddress("fe80::1%7")).scopeID == 7)
        #expect(try #require(IPAddress("fd00::1")).isUsableSource)
        #expect(try !#require(IPAddress("::1")).isUsableSource)
    }

    @Test func octetsAreThoseOfTheText() {
        #expect(IPAddress(1, 2, 3, 4).description == "1.2.3.4" && IPAddress(1, 2, 3, 4).bytes == [1, 2, 3, 4])
        #expect(IPAddress(255, 128, 64, 255).bytes == [255, 128, 64, 255])
    }

    @Test(arguments: [
        ("223.255.255.255", false), ("224.0.0.1", true), ("239.255.255.255", true), ("240.0.0.1", false), ("feff::1", false),
        ("ff00::", true),
        ("224::1", false),
    ])
    func groupsAreToldFromHosts(text: String, isMulticast: Bool) throws {
        #expect(try #require(IPAddress(text)).isMulticast == isMulticast)
    }

    @Test func onlyTheMappedRangeIsIPv4() throws {
        for text in ["::1:ffff:a00:1", "1::ffff:a00:1", "::fffe:a00:1", "::feff:a00:1"] {
            #expect(try #require(IPAddress(text)).family == .v6)
        }
        #expect(try #require(IPAddress("::ffff:a00:1")).family == .v4)
    }

    @Test func familiesHaveTheNumbersOfTheSystem() throws {
        #expect(IPAddress(10, 0, 0, 1).systemFamily == 2)
        #expect(try #require(IPAddress("::1")).systemFamily == 10)
    }
}

/// RCH-2
@Suite(.leavesNothing) struct TargetTests {
    @Test(
        arguments: [
            ("https://example.org/path?q", "example.org", 443), ("http://user:pw@example.org:8080/", "example.org", 8080),
            ("example.org:443", "example.org", 443), ("HTTPS://example.org", "example.org", 443), ("localhost", "localhost", nil),
            ("example.org:", "example.org", nil),
        ] as [(String, String, UInt16?)])
    func aHostIsFoundInWhatPeopleWrite(_ text: String, _ host: String, _ port: UInt16?) throws {
        let target = try #require(NetworkPath.Target(text))
        #expect(target.subject == .host(host))
        #expect(target.port == port)
    }

    @Test(
        arguments: [
            ("192.0.2.1", "192.0.2.1", nil), ("[2001:db8::1]:443", "2001:db8::1", 443), ("2001:db8::1", "2001:db8::1", nil),
            ("http://[::1]/", "::1", 80), ("192.0.2.1:53", "192.0.2.1", 53), ("[::1]:", "::1", nil),
            // A zone as in RFC 6874, and as people write it; with nothing after it, "%25" is the interface of that index.
            ("http://[fe80::1%25lo]:8080/", "fe80::1%lo", 8080), ("[fe80::1%lo]", "fe80::1%lo", nil), ("[fe80::1%257]:1", "fe80::1%7", 1),
            ("[fe80::1%25]:1", "fe80::1%25", 1), ("fe80::1%25", "fe80::1%25", nil),
        ] as [(String, String, UInt16?)])
    func anAddressIsAnAddress(_ text: String, _ address: String, _ port: UInt16?) throws {
        let target = try #require(NetworkPath.Target(text))
        #expect(target.subject == .address(try #require(IPAddress(address))))
        #expect(target.port == port)
    }

    @Test(
        arguments: [
            ("http://h", 80), ("ws://h", 80), ("https://h", 443), ("wss://h", 443), ("ftp://h", 21), ("ssh://h", 22), ("gopher://h", nil),
        ]
            as [(String, UInt16?)])
    func aSchemeHasAPort(_ text: String, _ port: UInt16?) throws { #expect(try #require(NetworkPath.Target(text)).port == port) }

    @Test func aNameIsAsLongAsDNSAllows() {
        let longest = String(repeating: "a", count: 253)
        #expect(NetworkPath.Target(longest) != nil && NetworkPath.Target(longest + "a") == nil)
        // The last byte before a space, and the first ones around DEL.
        #expect(
            NetworkPath.Target("a!b") != nil && NetworkPath.Target("a~b") != nil && NetworkPath.Target("a\u{7f}b") == nil
                && NetworkPath.Target("a\u{80}b") != nil)
    }

    @Test(arguments: [
        "", "https://", "http:///path", "a b", "host:99999", "host:x", "[::1", "[example]:1", "ex\u{0}ample", "a[b", "a]b", "a[b]:80",
    ])
    func otherTextIsNone(_ text: String) { #expect(NetworkPath.Target(text) == nil) }

    /// To Swift these are numbers.
    @Test(arguments: ["host:+80", "host:-0", "192.0.2.1:+80", "[::1]:+80", "host:80 ", "host:８０", "[fe80::1%25+1]", "[fe80::1%25nothing0]"])
    func aPortIsDigitsAndAZoneIsThere(_ text: String) { #expect(NetworkPath.Target(text) == nil) }

    /// To Swift a delimiter and an accent are one character.
    @Test func anAccentAfterADelimiterDoesNotHideIt() {
        #expect(NetworkPath.Target("host/\u{301}path")?.subject == .host("host"))
        #expect(NetworkPath.Target("user@\u{301}host")?.subject == .host("\u{301}host"))
        #expect(NetworkPath.Target("host:\u{301}80") == nil)
    }
}

@Suite(.leavesNothing) struct SettleRuleTests {
    private let good = NetworkPath(status: .satisfied)
    private let bad = NetworkPath(status: .unsatisfied(.noRoute))
    private var other: NetworkPath {
        var path = good
        path.supportsDNS = true
        return path
    }

    @Test func aLossIsToldAtOnceAlsoInAWindow() {
        var rule = SettleRule()
        func decide(from old: NetworkPath?, to new: NetworkPath, now: Duration) -> SettleRule.Verdict {
            rule.decide(from: old, to: new, now: now)
        }
        #expect(decide(from: nil, to: good, now: .zero) == .publish)
        #expect(decide(from: good, to: bad, now: .milliseconds(1)) == .publish)
    }

    @Test func whatFollowsAPublicationWaitsForAWindowThatNothingRestarts() {
        var rule = SettleRule(burst: .milliseconds(20))
        func decide(from old: NetworkPath?, to new: NetworkPath, now: Duration) -> SettleRule.Verdict {
            rule.decide(from: old, to: new, now: now)
        }
        #expect(decide(from: nil, to: good, now: .zero) == .publish)
        for now in stride(from: 1, to: 20, by: 3) {
            #expect(decide(from: good, to: other, now: .milliseconds(now)) == .wait(until: .milliseconds(20)))
        }
        #expect(decide(from: good, to: other, now: .milliseconds(20)) == .publish)
    }

    private func path(v4: Bool = false, v6: Bool = false, over name: String = "eth0") -> NetworkPath {
        var path = NetworkPath(status: .satisfied)
        (path.supportsIPv4, path.supportsIPv6) = (v4, v6)
        path.interfaces = [NetworkInterface(name: name, index: 2, kind: .wired)]
        return path
    }

    @Test func aLostFamilyIsALossAndAFoundOneIsNot() {
        for (before, after) in [(path(v4: true, v6: true), path(v4: true)), (path(v4: true, v6: true), path(v6: true))] {
            var rule = SettleRule(burst: .milliseconds(20))
            let first = rule.decide(from: nil, to: before, now: .zero)
            let loss = rule.decide(from: before, to: after, now: .milliseconds(1))
            let gain = rule.decide(from: after, to: before, now: .milliseconds(2))
            #expect(first == .publish && loss == .publish)
            #expect(gain == .wait(until: .milliseconds(21)), "the window begins with what was told last")
        }
    }

    @Test func anInterfaceThatDiesIsALossAlsoWhereAnotherTakesOver() {
        var rule = SettleRule(burst: .milliseconds(20))
        let (wired, wireless) = (path(v4: true), path(v4: true, over: "wlan0"))
        let first = rule.decide(from: nil, to: wired, now: .zero)
        let moved = rule.decide(from: wired, to: wireless, now: .milliseconds(1))
        let died = rule.decide(from: wired, to: wireless, losesInterface: true, now: .milliseconds(2))
        #expect(first == .publish && died == .publish)
        #expect(moved == .wait(until: .milliseconds(20)), "both live: no loss")
    }

    /// The rate of tellings is bounded whatever comes: what was lost comes back at the end of a window only.
    @Test func flappingIsToldTwiceAWindowAtMost() {
        var rule = SettleRule(burst: .milliseconds(20))
        var told = path(v4: true, v6: true)
        var count = 0
        for tick in 0..<10_000 {
            let now = Duration.microseconds(100 * tick)
            let candidate = tick % 2 == 0 ? path(v4: true, over: "wlan0") : path(v4: true, v6: true)
            if candidate == told {
                rule.nothingToTell()
                continue
            }
            let isDead = tick % 2 == 0
            if rule.decide(from: told, to: candidate, losesInterface: isDead && told.interfaces[0].name == "eth0", now: now) == .publish {
                told = candidate
                count += 1
            }
        }
        #expect(count <= 2 * 50 + 1 && count >= 50, "in a second of 50 windows: \(count)")
    }

    @Test func whatWasNeverGoodCannotBeLost() {
        var rule = SettleRule(burst: .milliseconds(20))
        let carrier = NetworkPath(status: .unsatisfied(.noCarrier))
        let first = rule.decide(from: nil, to: carrier, now: .zero)
        let second = rule.decide(from: carrier, to: bad, losesInterface: true, now: .milliseconds(1))
        #expect(first == .publish && second == .wait(until: .milliseconds(20)))
    }

    @Test func withoutAnotherWordChangesAreGatheredForTwentyMilliseconds() {
        var rule = SettleRule()
        let first = rule.decide(from: nil, to: good, now: .zero)
        let early = rule.decide(from: good, to: other, now: .milliseconds(1))
        let late = rule.decide(from: good, to: other, now: .milliseconds(20))
        #expect(first == .publish && early == .wait(until: .milliseconds(20)) && late == .publish)
    }

    @Test func aPathThatIsStillGoodGainsNothing() {
        var rule = SettleRule(gain: .milliseconds(100), burst: .zero)
        let first = rule.decide(from: nil, to: good, now: .zero)
        let changed = rule.decide(from: good, to: other, now: .milliseconds(1))
        var bad = NetworkPath(status: .unsatisfied(.noRoute))
        bad.supportsDNS = true
        let stillBad = rule.decide(from: self.bad, to: bad, now: .milliseconds(2))
        #expect(first == .publish && changed == .publish && stillBad == .publish)
    }

    @Test func aGainThatWasLostBeginsAgain() {
        var rule = SettleRule(gain: .milliseconds(100), burst: .zero)
        var worse = bad
        worse.supportsDNS = true
        let first = rule.decide(from: nil, to: bad, now: .zero)
        let gaining = rule.decide(from: bad, to: good, now: .milliseconds(10))
        let lost = rule.decide(from: bad, to: worse, now: .milliseconds(50))
        let again = rule.decide(from: worse, to: good, now: .milliseconds(60))
        #expect(
            first == .publish && gaining == .wait(until: .milliseconds(110)) && lost == .publish
                && again == .wait(until: .milliseconds(160)))
        let told = rule.decide(from: worse, to: good, now: .milliseconds(160))
        let next = rule.decide(from: worse, to: good, now: .milliseconds(170))
        #expect(told == .publish && next == .wait(until: .milliseconds(270)), "what was told is over")
    }

    @Test func aGainThatIsLostUntoldIsForgotten() {
        var rule = SettleRule(gain: .milliseconds(100), burst: .milliseconds(20))
        var worse = bad
        worse.supportsDNS = true
        _ = rule.decide(from: nil, to: bad, now: .zero)
        _ = rule.decide(from: bad, to: good, now: .milliseconds(1))
        let waits = rule.decide(from: bad, to: worse, now: .milliseconds(2))
        let again = rule.decide(from: bad, to: good, now: .milliseconds(3))
        #expect(waits == .wait(until: .milliseconds(20)) && again == .wait(until: .milliseconds(103)))
    }

    @Test func aGainLastsBeforeItIsTold() {
        var rule = SettleRule(gain: .milliseconds(100), burst: .zero)
        func decide(from old: NetworkPath?, to new: NetworkPath, now: Duration) -> SettleRule.Verdict {
            rule.decide(from: old, to: new, now: now)
        }
        #expect(decide(from: nil, to: bad, now: .zero) == .publish)
        #expect(decide(from: bad, to: good, now: .milliseconds(5)) == .wait(until: .milliseconds(105)))
        #expect(decide(from: bad, to: other, now: .milliseconds(90)) == .wait(until: .milliseconds(105)))
        rule.nothingToTell()
        #expect(decide(from: bad, to: good, now: .milliseconds(95)) == .wait(until: .milliseconds(195)), "it went away in between")
        #expect(decide(from: bad, to: good, now: .milliseconds(195)) == .publish)
    }
}

@Suite(.leavesNothing) struct EvaluationThrottleTests {
    @Test func theFirstOfAWindowAreAdmittedAndThenItsEnd() {
        var throttle = EvaluationThrottle(window: .milliseconds(20))
        func admit(limit: Int, now: Duration) -> Duration? { throttle.admit(limit: limit, now: now) }
        #expect(admit(limit: 2, now: .milliseconds(100)) == nil)
        #expect(admit(limit: 2, now: .milliseconds(101)) == nil)
        #expect(admit(limit: 2, now: .milliseconds(102)) == .milliseconds(120))
        #expect(admit(limit: 2, now: .milliseconds(119)) == .milliseconds(120))
        #expect(admit(limit: 2, now: .milliseconds(120)) == nil)
    }

    @Test func aLossIsAdmittedWhateverCameBefore() {
        var throttle = EvaluationThrottle(window: .milliseconds(20))
        var questions = 0
        func admit(isLoss: Bool) -> Duration? {
            func answer() -> Bool {
                questions += 1
                return isLoss
            }
            return throttle.admit(limit: 1, now: .milliseconds(100), isLoss: answer())
        }
        let verdicts = [true, true, false, true].map(admit)
        #expect(verdicts == [nil, nil, .milliseconds(120), nil])
        #expect(questions == 3, "the first look is free, so nobody asks")
    }
}

@Suite(.leavesNothing) struct SmallPureTests {
    @Test func nameServersAreFound() {
        let text = "# nameserver 9.9.9.9\nsearch a b\nnameserver 127.0.0.53\r\nnameserver\tfe80::1%2\nnameserver x\nnameserver\noptions a\n"
        #expect(ResolverConfiguration(text: text).nameServers.map(\.description) == ["127.0.0.53", "fe80::1%2"])
        #expect(ResolverConfiguration(text: String(repeating: "nameserver 1.1.1.1\n", count: 9)).nameServers.count == 3)
        #expect(ResolverConfiguration(text: "").nameServers.isEmpty)
    }

    @Test func sleepIsNotAStepOfTheClock() {
        var detector = SleepDetector(timeAsleep: .seconds(5))
        func hasSlept(_ time: Duration) -> Bool { detector.hasSlept(timeAsleep: time) }
        #expect(!hasSlept(.seconds(5)))
        #expect(hasSlept(.seconds(65)))
        #expect(!hasSlept(.seconds(65) + .milliseconds(1)))
        #expect(!hasSlept(.seconds(65) + .milliseconds(101)), "within what reading two clocks takes")
        #expect(hasSlept(.seconds(65) + .milliseconds(202)))
    }

    @Test func kindsOfInterfaces() {
        #expect(InterfaceClassifier.kind(hardwareType: 772, driver: "") == .loopback)
        #expect(InterfaceClassifier.kind(hardwareType: 65_534, driver: "wireguard") == .vpn)
        #expect(InterfaceClassifier.kind(hardwareType: 1, driver: "tun") == .vpn)
        #expect(InterfaceClassifier.kind(hardwareType: 1, driver: "veth") == .wired)
        #expect(InterfaceClassifier.kind(hardwareType: 1, driver: "") == nil)
        #expect(InterfaceClassifier.kind(deviceType: "wlan") == .wifi)
        #expect(InterfaceClassifier.kind(deviceType: "wwan") == .cellular)
    }

    @Test func deltas() {
        var old = NetworkPath(status: .satisfied)
        var new = old
        #expect(new.delta(from: old) == [])
        #expect(new.delta(from: nil) == .first)
        new.localAddresses = [IPAddress(10, 0, 0, 1)]
        new.status = .requiresConnection
        #expect(new.delta(from: old) == [.status, .localAddresses])
        #expect(new.delta(from: old).breaksConnections)
        old = new
        new.supportsDNS = true
        new.validation = .validated
        new.metered = .yes
        #expect(new.delta(from: old) == [.dns, .validation, .cost])
        #expect(!new.delta(from: old).breaksConnections)
    }

    @Test func linesOfIfInet6() {
        let line = "fd010000000000000000000000000001 03 40 00 40 eth0"
        let (name, address) =
            ConnectRoute.ipv6Address(line) ?? (
                "", LocalAddress(key: .init(interface: 0, address: IPAddress(0, 0, 0, 0), prefixLength: 0), flags: 0)
            )
        #expect(name == "eth0")
        #expect(address.key.interface == 3 && address.key.prefixLength == 64 && address.isNotReady)
        #expect(address.address.description == "fd01::1")
        for length in 0..<line.count { _ = ConnectRoute.ipv6Address(line.prefix(length)) }
        for line in [
            "+f010000000000000000000000000001 03 40 00 40 eth0", "fd010000000000000000000000000001 +3 40 00 40 eth0",
            "fd01zzzzzzzzzzzzzzzzzzzzzzzz0001 03 40 00 40 eth0", "fd010000000000000000000000000001 03 81 00 40 eth0",
            "fd010000000000000000000000000001 03 40 00 -0 eth0",
        ] { #expect(ConnectRoute.ipv6Address(line) == nil, "\(line)") }
        let bridge = ConnectRoute.ipv6Address("fd010000000000000000000000000001 03 40 00 80   br-a+1")
        #expect(bridge?.name == "br-a+1" && bridge?.1.isNotReady == false)
        #expect(ConnectRoute.ipv6Address("zz010000000000000000000000000001 03 40 00 40 eth0") == nil)
    }

    @Test func hintsGuessByTheFirstInterface() {
        func hint(_ kind: NetworkInterface.Kind) -> NetworkPath.Metered {
            InterfaceKindHint().metered(over: [NetworkInterface(name: "a", index: 1, kind: kind)])
        }
        #expect(hint(.cellular) == .guessYes)
        #expect(hint(.wired) == .guessNo)
        #expect(hint(.vpn) == .unknown)
        #expect(InterfaceKindHint().metered(over: []) == .unknown)
    }

    @Test func verdictsOfAProbe() {
        let probe = ReachabilityProbe(url: "u") { _ in .init(status: 0) }
        #expect(probe.verdict(on: .init(status: 204)) == .validated)
        #expect(probe.verdict(on: .init(status: 302, location: "http://portal/")) == .captivePortal(url: "http://portal/"))
        #expect(probe.verdict(on: .init(status: 200, body: "<html>")) == .captivePortal(url: nil))
        #expect(probe.verdict(on: .init(status: 511)) == .captivePortal(url: nil))
        #expect(probe.verdict(on: .init(status: 503)) == .failed)
        let body = ReachabilityProbe(url: "u", expecting: .body("Success")) { _ in .init(status: 0) }
        #expect(body.verdict(on: .init(status: 200, body: "Success\n")) == .validated)
        #expect(body.verdict(on: .init(status: 200, body: "Log in")) == .captivePortal(url: nil))
    }
}

@Suite(.leavesNothing) struct SmallFileTests {
    @Test func whatCannotBeReadIsNoText() {
        // A folder can be opened, and no byte of it read.
        let text = SmallFile.text(at: "/proc/self", limit: 64)
        let code = errno
        #expect(text == nil && code == EISDIR)
        let nothing = SmallFile.text(at: "/proc/self/nothing", limit: 64)
        let missing = errno
        #expect(nothing == nil && missing == ENOENT)
    }
}
