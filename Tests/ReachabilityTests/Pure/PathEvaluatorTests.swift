import CNetlink
import CleanSlate
import Glibc
import Testing

@testable import Reachability

@Suite(.leavesNothing) struct PathEvaluatorTests {
    struct ScriptedOracle: RouteOracle {
        var answers: [String: RouteAnswer] = [:]
        var otherwise: RouteAnswer = .refused(ENETUNREACH)
        mutating func answer(_ query: RouteQuery) -> RouteAnswer {
            answers["\(query.destination)" + (query.interface.map { " over \($0)" } ?? "")] ?? otherwise
        }
    }

    private static let samples = ["2001:db8::1", "2001:db8::2", "192.0.2.1", "192.0.2.2", "192.0.2.3"].compactMap { IPAddress($0) }

    private func table(carrier: Bool = true, unready: [String] = []) -> InterfaceTable {
        var table = InterfaceTable()
        for (index, name) in ["lo", "eth0", "wlan0", "wg0"].enumerated() {
            let isDead = index == 1 && !carrier
            let link = Link(
                index: UInt32(index + 1), name: name, hardwareType: index == 0 ? 772 : 1, flags: index == 0 ? 0x10009 : 0x1,
                operationalState: isDead ? 2 : index == 0 ? 0 : 6, driver: "")
            _ = table.insert(link) { [.loopback, .wired, .wifi, .vpn][Int($0.index) - 1] }
        }
        for text in unready.compactMap({ IPAddress($0) }) {
            _ = table.insert(LocalAddress(key: .init(interface: 2, address: text, prefixLength: 64), flags: UInt32(IFA_F_TENTATIVE)))
        }
        return table
    }

    private func route(_ interface: UInt32 = 2, from source: String? = "10.0.0.1", by gateway: String? = nil, prefix: UInt8 = 0)
        -> RouteAnswer
    {
        var route = Route()
        route.interface = interface
        route.source = source.flatMap { IPAddress($0) }
        route.gateway = gateway.flatMap { IPAddress($0) }
        route.matchedPrefix = prefix
        return .route(route)
    }

    private func evaluate(
        _ answers: [String: RouteAnswer], otherwise: RouteAnswer = .refused(ENETUNREACH), table: InterfaceTable? = nil,
        target: NetworkPath.Target = .defaultPath, inUse: [NetworkInterface] = [], excluding kinds: Set<NetworkInterface.Kind> = [],
        servers: [String] = []
    ) -> PathEvaluator.Outcome {
        var oracle = ScriptedOracle(answers: answers, otherwise: otherwise)
        let settings = EvaluationSettings(
            references: Self.samples, nameServers: servers.compactMap { IPAddress($0) }, excludedKinds: kinds, requiredInterface: nil)
        return PathEvaluator(table: table ?? self.table(), settings: settings).evaluate(
            PathQuestion(target: target, inUse: inUse), oracle: &oracle)
    }

    /// A rule, or a route that throws, is about one sample and says nothing of the rest.
    @Test func oneSampleWithoutARouteIsNoLackOfADefault() {
        let throwing = ["2001:db8::1", "192.0.2.1"].reduce(into: [String: RouteAnswer]()) { $0[$1] = .refused(ENETUNREACH) }
        let path = evaluate(throwing, otherwise: route()).path
        #expect(path.isSatisfied && path.supportsIPv4 && path.supportsIPv6)
        // Long prefixes for some, nothing for the others: there is no default.
        let specific = evaluate(throwing, otherwise: route(prefix: 24)).path
        #expect(specific.status == .unsatisfied(.noRoute))
    }

    @Test func anInterfaceOfTheOldPathIsLostWhenItCanCarryNothing() {
        let interfaces = ["lo", "eth0", "wlan0"].enumerated().map { NetworkInterface(name: $1, index: UInt32($0 + 1), kind: .other) }
        let loses = { (table: InterfaceTable, inUse: [NetworkInterface]) in
            evaluate([:], otherwise: route(3), table: table, inUse: inUse).losesInterface
        }
        let (whole, unplugged, removed) = (table(), table(carrier: false), InterfaceTable())
        let answers = [
            loses(whole, interfaces), loses(unplugged, interfaces), loses(unplugged, [interfaces[2]]), loses(removed, interfaces),
        ]
        #expect(answers == [false, true, false, true])
        let nobody = loses(removed, [])
        #expect(!nobody)
    }

    @Test func oneFamilyIsEnough() {
        let outcome = evaluate(["192.0.2.1": route(by: "10.0.0.254")])
        #expect(outcome.path.isSatisfied && outcome.path.supportsIPv4 && !outcome.path.supportsIPv6)
        #expect(outcome.path.gateways.map(\.description) == ["10.0.0.254"])
        #expect(outcome.path.localAddresses.map(\.description) == ["10.0.0.1"])
        #expect(outcome.path.interfaces.map(\.kind) == [.wired])
    }

    // RCH-1
    @Test(arguments: [
        (ENETUNREACH, NetworkPath.Reason.noRoute), (EHOSTUNREACH, .unreachable), (EACCES, .prohibited), (EINVAL, .blackhole),
    ])
    func theKernelsRefusalsHaveNames(_ code: Int32, _ reason: NetworkPath.Reason) {
        #expect(evaluate([:], otherwise: .refused(code)).path.status == .unsatisfied(reason))
    }

    @Test func aRouteWithoutCarrierIsNone() {
        let outcome = evaluate(["192.0.2.1": route(), "192.0.2.1 over 3": route(3, from: "10.1.0.1")], table: table(carrier: false))
        #expect(outcome.path.status == .unsatisfied(.noCarrier))
        #expect(outcome.path.interfaces.map(\.name) == ["eth0", "wlan0"], "the one that would do is listed too")
    }

    @Test func aSourceThatReachesTheLinkOnlyIsNone() {
        for (source, unready, reason) in [
            ("fe80::1", [], NetworkPath.Reason.noAddress), ("fe80::1", ["fd00::1"], .addressNotReady),
            ("fd00::1", ["fd00::1"], .addressNotReady),
            ("::1", [], .noAddress),
        ] {
            let outcome = evaluate(["2001:db8::1": route(from: source)], table: table(unready: unready))
            #expect(outcome.path.status == .unsatisfied(reason))
            #expect(!outcome.path.supportsIPv6)
        }
        #expect(evaluate(["192.0.2.1": route(from: "169.254.1.1")]).path.status == .unsatisfied(.noAddress))
        #expect(evaluate(["192.0.2.1": route(from: nil)]).path.status == .unsatisfied(.noAddress))
    }

    @Test func aSampleThatALongerPrefixCatchesIsPassedOver() {
        let answers = ["192.0.2.1": route(3, prefix: 24), "192.0.2.2": route(2, prefix: 1)]
        let outcome = evaluate(answers)
        #expect(outcome.path.interfaces.map(\.name) == ["eth0"])
    }

    @Test func withoutADefaultTheMajoritySaysWhetherOneGetsAnywhere() {
        let full = ["192.0.2.1": route(prefix: 8), "192.0.2.2": .refused(EINVAL), "192.0.2.3": route(prefix: 12)]
        #expect(evaluate(full).path.isSatisfied, "a full table with one hole")
        let closed = ["192.0.2.1": route(prefix: 8), "192.0.2.2": .refused(EINVAL), "192.0.2.3": RouteAnswer.refused(EINVAL)]
        #expect(evaluate(closed).path.status == .unsatisfied(.blackhole))
        #expect(
            evaluate(["192.0.2.1": route(prefix: 8)]).path.status == .unsatisfied(.noRoute), "the second sample proves that there is none")
    }

    @Test func excludedKindsDoNotCount() {
        #expect(evaluate(["192.0.2.1": route(4)], excluding: [.vpn]).path.status == .unsatisfied(.notPermitted))
    }

    @Test func dnsTakesAServerWithARoute() {
        let route = route()
        #expect(evaluate(["192.0.2.1": route, "10.0.0.53": route], servers: ["10.0.0.53"]).path.supportsDNS)
        #expect(!evaluate(["192.0.2.1": route], servers: ["10.0.0.53"]).path.supportsDNS)
        #expect(!evaluate(["192.0.2.1": route]).path.supportsDNS)
    }

    @Test func whatIsForThisHostNeedsNoWire() {
        var local = Route()
        local.interface = 1
        local.type = UInt8(RTN_LOCAL)
        local.source = IPAddress(127, 0, 0, 1)
        let outcome = evaluate(["127.0.0.1": .route(local)], table: table(carrier: false), target: .address(IPAddress(127, 0, 0, 1)))
        #expect(outcome.path.isSatisfied)
        #expect(outcome.path.interfaces.map(\.kind) == [.loopback])
    }
}
