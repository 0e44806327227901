import Glibc
import Testing

@testable import Reachability

extension PathEvaluatorTests {
    /// Answers by destination and interface, and remembers what it was asked.
    private struct Oracle: RouteOracle {
        var answers: [String: RouteAnswer]
        var queries: [RouteQuery] = []

        mutating func answer(_ query: RouteQuery) -> RouteAnswer {
            queries.append(query)
            return answers["\(query.destination)" + (query.interface.map { " over \($0)" } ?? "")] ?? .refused(ENETUNREACH)
        }
    }

    private func route(_ interface: UInt32, from source: String, prefix: UInt8 = 0) -> RouteAnswer {
        var route = Route()
        route.interface = interface
        route.source = IPAddress(source)
        route.matchedPrefix = prefix
        return .route(route)
    }

    /// Index, hardware type and state of each; the name says which.
    private func table(_ links: [(UInt32, UInt16, UInt8, UInt32)]) -> InterfaceTable {
        var table = InterfaceTable()
        for (index, type, state, flags) in links {
            _ = table.insert(Link(index: index, name: "if\(index)", hardwareType: type, flags: flags, operationalState: state, driver: ""))
            { _ in .wired }
        }
        return table
    }

    private func evaluate(
        _ target: NetworkPath.Target, resolved: [String] = [], _ oracle: inout Oracle, table: InterfaceTable? = nil,
        references: [String] = ["192.0.2.1"],
        required: String? = nil
    ) -> PathEvaluator.Outcome {
        let settings = EvaluationSettings(
            references: references.compactMap { IPAddress($0) }, nameServers: ["10.0.0.53"].compactMap { IPAddress($0) }, excludedKinds: [],
            requiredInterface: required)
        let evaluator = PathEvaluator(table: table ?? self.table([(2, 1, 6, 1), (3, 1, 6, 1)]), settings: settings)
        return evaluator.evaluate(PathQuestion(target: target, resolved: resolved.compactMap { IPAddress($0) }), oracle: &oracle)
    }

    @Test func aHostIsReachedOverAnyOfItsAddresses() {
        var oracle = Oracle(answers: ["2001:db8::9": route(2, from: "fd00::1"), "10.0.0.53": route(2, from: "10.0.0.1")])
        let outcome = evaluate(.host("example.org", port: 443), resolved: ["192.0.2.9", "2001:db8::9"], &oracle)
        #expect(outcome.path.isSatisfied && outcome.path.supportsIPv6 && !outcome.path.supportsIPv4 && outcome.path.supportsDNS)
        #expect(outcome.path.remoteAddresses.map(\.description) == ["192.0.2.9", "2001:db8::9"])
        #expect(oracle.queries.map(\.port) == [443, 443, nil])
    }

    @Test func aNameServerWithoutARouteServesNoHost() {
        var oracle = Oracle(answers: ["192.0.2.9": route(2, from: "10.0.0.1")])
        let outcome = evaluate(.address(IPAddress(192, 0, 2, 9)), &oracle)
        #expect(outcome.path.isSatisfied && !outcome.path.supportsDNS)
    }

    @Test func onlyTheRequiredInterfaceIsAsked() {
        var oracle = Oracle(answers: ["192.0.2.9 over 3": route(3, from: "10.0.0.1"), "192.0.2.9": route(2, from: "10.0.0.1")])
        let over = evaluate(.address(IPAddress(192, 0, 2, 9)), &oracle, required: "if3")
        #expect(over.path.interfaces.map(\.name) == ["if3"])
        let unknown = evaluate(.address(IPAddress(192, 0, 2, 9)), &oracle, required: "if9")
        #expect(
            !unknown.path.isSatisfied
                && oracle.queries.last(where: { $0.port == nil && $0.interface != nil })?.interface == UInt32(Int32.max))
    }

    @Test func aDrawIsWonByTheRoutes() {
        var oracle = Oracle(answers: ["192.0.2.1": route(2, from: "10.0.0.1", prefix: 8), "192.0.2.2": .refused(EINVAL)])
        let outcome = evaluate(.defaultPath, &oracle, references: ["192.0.2.1", "192.0.2.2"])
        #expect(outcome.path.isSatisfied)
    }

    @Test func whatLinkLocalReachesIsJudgedByWhereItGoes() {
        // A source of the link is good for the link.
        var oracle = Oracle(answers: ["fe80::9": route(2, from: "fe80::1"), "2001:db8::9": route(2, from: "fe80::1")])
        let near = evaluate(.host("near"), resolved: ["fe80::9"], &oracle)
        let far = evaluate(.host("far"), resolved: ["2001:db8::9"], &oracle)
        #expect(near.path.isSatisfied && far.path.status == .unsatisfied(.noAddress))
    }

    @Test func theFirstSampleOfItsFamilyDecidesWhatAnAddressHasToReach() {
        // To a global address a source of the link is none, also where a later sample is of the link itself.
        var oracle = Oracle(answers: ["2001:db8::1": route(2, from: "fe80::1")])
        let outcome = evaluate(.defaultPath, &oracle, references: ["2001:db8::1", "fe80::1"])
        #expect(outcome.path.status == .unsatisfied(.noAddress))
    }

    @Test func onlyLinksThatCouldDoAreOfferedForADeadOne() {
        // 2 has no carrier; 3 would do; 4 is down, 5 has no carrier, 6 is the loopback; 7 would do, too.
        let table = table([(2, 1, 2, 1), (3, 1, 6, 1), (4, 1, 6, 0), (5, 1, 2, 1), (6, 772, 6, 1), (7, 1, 6, 1)])
        var answers = ["192.0.2.1": route(2, from: "10.0.0.1")]
        for index in UInt32(2)...7 { answers["192.0.2.1 over \(index)"] = route(index, from: "10.0.0.1") }
        var oracle = Oracle(answers: answers)
        let outcome = evaluate(.defaultPath, &oracle, table: table)
        #expect(outcome.path.status == .unsatisfied(.noCarrier) && outcome.path.interfaces.map(\.index) == [2, 3, 7])
        let asked = oracle.queries.compactMap(\.interface)
        #expect(asked == [3, 7], "the others are not even asked about")
    }

    @Test func aRefusalNamesNoInterface() {
        var table = table([(2, 1, 6, 1)])
        _ = table.insert(Link(index: 0, name: "nothing", hardwareType: 1, flags: 1, operationalState: 6, driver: "")) { _ in .other }
        var oracle = Oracle(answers: ["192.0.2.1": .refused(EACCES)])
        let outcome = evaluate(.defaultPath, &oracle, table: table)
        #expect(outcome.path.status == .unsatisfied(.prohibited) && outcome.path.interfaces.isEmpty)
    }

    /// As getaddrinfo(3) and Happy Eyeballs have it (RFC 8305).
    @Test func version6IsAskedAndToldFirst() {
        let references = ["192.0.2.1", "2001:db8::1"]
        var oracle = Oracle(answers: ["2001:db8::1": route(2, from: "fd00::1"), "192.0.2.1": route(3, from: "10.0.0.1")])
        let both = evaluate(.defaultPath, &oracle, references: references)
        #expect(both.path.interfaces.map(\.name) == ["if2", "if3"] && both.path.supportsIPv6 && both.path.supportsIPv4)
        #expect(both.path.localAddresses.map(\.description) == ["fd00::1", "10.0.0.1"])
        let dead = table([(2, 1, 2, 1), (3, 1, 6, 1)])
        oracle = Oracle(answers: ["2001:db8::1": route(2, from: "fd00::1"), "192.0.2.1": route(2, from: "10.0.0.1")])
        _ = evaluate(.defaultPath, &oracle, table: dead, references: references)
        let asked = oracle.queries.filter { $0.interface != nil }.map(\.destination.description)
        #expect(asked == ["2001:db8::1", "192.0.2.1"])
    }
}
