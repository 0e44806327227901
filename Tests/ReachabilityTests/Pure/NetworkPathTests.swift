import CleanSlate
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct NetworkPathTests {
    private let wired = NetworkInterface(name: "eth0", index: 2, kind: .wired)

    /// Every part of a path has a bit of its own, and no other.
    @Test func whatChangedIsTold() {
        let changes: [(NetworkPath.Delta, (inout NetworkPath) -> Void)] = [
            (.status, { $0.status = .requiresConnection }),
            (.interfaces, { $0.interfaces = [NetworkInterface(name: "a", index: 1, kind: .wifi)] }),
            (.gateways, { $0.gateways = [IPAddress(10, 0, 0, 254)] }), (.localAddresses, { $0.localAddresses = [IPAddress(10, 0, 0, 1)] }),
            (.remoteAddresses, { $0.remoteAddresses = [IPAddress(192, 0, 2, 1)] }), (.families, { $0.supportsIPv4 = true }),
            (.families, { $0.supportsIPv6 = true }), (.dns, { $0.supportsDNS = true }), (.cost, { $0.metered = .yes }),
            (.cost, { $0.isConstrained = true }), (.validation, { $0.validation = .failed }),
        ]
        let old = NetworkPath(status: .satisfied)
        for (expected, change) in changes {
            var new = old
            change(&new)
            #expect(new.delta(from: old) == expected && old.delta(from: new) == expected)
            #expect(!new.hasSameContent(as: old))
        }
        #expect(old.delta(from: nil) == .first && old.delta(from: old) == [])
    }

    @Test func eachBitIsAnother() {
        let all: [NetworkPath.Delta] = [
            .status, .interfaces, .gateways, .localAddresses, .remoteAddresses, .families, .dns, .cost, .validation, .first,
        ]
        #expect(all.map(\.rawValue) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])
        let breaking: [NetworkPath.Delta] = [.interfaces, .gateways, .localAddresses]
        #expect(all.filter(\.breaksConnections) == breaking)
    }

    @Test func theCountIsNoContent() {
        let old = NetworkPath(status: .satisfied)
        var new = old
        new.generation = 7
        #expect(new != old && new.hasSameContent(as: old) && old.hasSameContent(as: new))
    }

    @Test func aPathThatNobodyDescribedPromisesNothing() {
        let path = NetworkPath(status: .satisfied)
        #expect(path.isSatisfied && !NetworkPath(status: .requiresConnection).isSatisfied)
        #expect(!path.supportsIPv4 && !path.supportsIPv6 && !path.supportsDNS && !path.isConstrained && path.generation == 0)
        #expect(path.metered == .unknown && !path.isExpensive && path.validation == .unknown)
    }

    @Test(
        arguments: [(.unknown, false), (.yes, true), (.no, false), (.guessYes, true), (.guessNo, false)] as [(NetworkPath.Metered, Bool)])
    func aGuessIsExpensiveToo(metered: NetworkPath.Metered, isExpensive: Bool) {
        var path = NetworkPath(status: .satisfied)
        path.metered = metered
        #expect(path.isExpensive == isExpensive)
    }

    @Test func theDescriptionIsALine() {
        var path = NetworkPath(status: .satisfied)
        #expect(path.description == "satisfied" && NetworkPath(status: .requiresConnection).description == "requires connection")
        #expect(NetworkPath(status: .unsatisfied(.noCarrier)).description == "unsatisfied (noCarrier)")
        path.supportsIPv4 = true
        path.supportsIPv6 = true
        path.supportsDNS = true
        path.metered = .yes
        path.interfaces = [wired, NetworkInterface(name: "wlan0", index: 3, kind: .wifi)]
        path.gateways = [IPAddress(192, 0, 2, 1), IPAddress(192, 0, 2, 2)]
        #expect(path.description == "satisfied IPv4 IPv6 DNS expensive over eth0 (wired), wlan0 (wifi) by 192.0.2.1, 192.0.2.2")
        #expect(path.usesInterfaceKind(.wifi) && path.usesInterfaceKind(.wired) && !path.usesInterfaceKind(.cellular))
    }

    @Test func aLinkWithoutADriverIsGuessedByItsHardware() {
        func kind(_ type: UInt16, driver: String = "") -> NetworkInterface.Kind {
            let link = Link(index: 1, name: "none", hardwareType: type, flags: 1, operationalState: 6, driver: driver)
            return InterfaceClassifier(usesSysfs: false).kind(of: link)
        }
        #expect(kind(1) == .wired && kind(772) == .loopback && kind(2) == .other && kind(771) == .other)
        for type in [UInt16(512), 65_534, 768, 769, 776, 778] { #expect(kind(type) == .vpn) }
        for type in [UInt16(801), 802, 803] { #expect(kind(type) == .wifi) }
        for type in [UInt16(519), 530] { #expect(kind(type) == .cellular) }
        #expect(kind(1, driver: "wwan") == .cellular && kind(512, driver: "veth") == .wired && kind(1, driver: "unheard-of") == .other)
        // The loopback is of this namespace or of none: sysfs has no other link of that name and index.
        let unknown = Link(index: 1, name: "no/path", hardwareType: 1, flags: 1, operationalState: 6, driver: "")
        #expect(InterfaceClassifier(usesSysfs: true).kind(of: unknown) == .wired)
    }

    @Test func hintsOfEveryKind() {
        func hint(_ kind: NetworkInterface.Kind) -> NetworkPath.Metered {
            InterfaceKindHint().metered(over: [
                NetworkInterface(name: "a", index: 1, kind: kind), NetworkInterface(name: "b", index: 2, kind: .cellular),
            ])
        }
        #expect(NetworkInterface.Kind.allCases.map(hint) == [.guessNo, .guessNo, .guessYes, .unknown, .guessNo, .unknown])
        #expect(!InterfaceKindHint().isConstrained(over: [wired]))
    }
}
