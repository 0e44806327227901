import Glibc
import SystemSupport

/// What an evaluation takes from the configuration and the name servers of the moment.
struct EvaluationSettings: Sendable {
    /// Addresses that stand for "anywhere". Nothing is sent to them.
    var references = Self.standardReferences
    var nameServers: [IPAddress] = []
    var excludedKinds: Set<NetworkInterface.Kind> = []
    var requiredInterface: String?

    /// Root name servers: part of no content network, and no company's.
    static let standardReferences = [
        "2001:503:ba3e::2:30", "2001:500:2::c", "2001:500:9f::42", "198.41.0.4", "192.33.4.12", "199.7.83.42",
    ].compactMap { IPAddress($0) }
}

/// From the kernel's answers and the table of interfaces to a path (pure but for the oracle it is given).
struct PathEvaluator {
    let table: InterfaceTable
    let settings: EvaluationSettings

    /// What one destination came to.
    struct Finding: Equatable {
        var status: NetworkPath.Status
        var family: IPAddress.Family
        var interface: UInt32 = 0
        var source: IPAddress?
        var gateway: IPAddress?
    }

    struct Outcome: Equatable {
        var path: NetworkPath
        /// An interface of the path told last is gone, down or without a carrier.
        var losesInterface = false
        /// The kernel could not be asked for lack of something: the path means nothing.
        var shortage: SystemFailure?
    }

    /// Of a host with more addresses these are asked about.
    static let mostAddresses = 8

    func evaluate(_ question: PathQuestion, oracle: inout some RouteOracle & ~Copyable) -> Outcome {
        let target = question.target
        var outcome =
            switch target.subject {
            case .defaultPath: evaluateDefault(target, &oracle)
            case .address(let address): evaluate([address], target, &oracle)
            case .host: evaluate(question.resolved, target, &oracle)
            }
        outcome.losesInterface = table.isDead(anyOf: question.inUse)
        return outcome
    }

    private func evaluateDefault(_ target: NetworkPath.Target, _ oracle: inout some RouteOracle & ~Copyable) -> Outcome {
        var findings: [Finding] = []
        for family in [IPAddress.Family.v6, .v4] {
            let samples = settings.references.filter { $0.family == family }
            guard !samples.isEmpty else { continue }
            findings.append(judge(defaultAnswer(samples, target, &oracle), to: samples[0]))
        }
        var outcome = Outcome(path: path(from: findings))
        if case .unsatisfied(.noCarrier) = outcome.path.status {
            outcome.path.interfaces += alternatives(to: outcome.path.interfaces, target, &oracle)
        }
        outcome.path.supportsDNS = supportsDNS(target, &oracle)
        return outcome
    }

    /// The answer of the first sample that a default route decides. Where longer prefixes catch them all (a full table without a default),
    /// the majority says whether one gets anywhere.
    private func defaultAnswer(
        _ samples: [IPAddress], _ target: NetworkPath.Target, _ oracle: inout some RouteOracle & ~Copyable
    ) -> RouteAnswer {
        var routes: [RouteAnswer] = []
        var refusals: [RouteAnswer] = []
        var isWithoutDefault = false
        for sample in samples {
            let answer = oracle.answer(query(sample, target))
            switch answer {
            case .route(let route) where (route.matchedPrefix ?? 0) <= Route.longestDefaultPrefix: return answer
            // Without a default route; or a rule or a route that throws is about this sample alone, and another finds the default.
            case .refused(ENETUNREACH): isWithoutDefault = true
            case .route: routes.append(answer)
            case .refused: refusals.append(answer)
            }
        }
        if isWithoutDefault { return .refused(ENETUNREACH) }
        return (refusals.count > routes.count ? refusals.first : routes.first) ?? .refused(ENETUNREACH)
    }

    private func evaluate(_ addresses: [IPAddress], _ target: NetworkPath.Target, _ oracle: inout some RouteOracle & ~Copyable) -> Outcome {
        let findings = addresses.prefix(Self.mostAddresses).map { judge(oracle.answer(query($0, target)), to: $0) }
        var path = path(from: findings)
        path.remoteAddresses = addresses
        path.supportsDNS = supportsDNS(target, &oracle)
        return Outcome(path: path)
    }

    private func query(_ destination: IPAddress, _ target: NetworkPath.Target) -> RouteQuery {
        let required = settings.requiredInterface.map { name in table.links.values.first { $0.name == name }?.index ?? UInt32(Int32.max) }
        return RouteQuery(destination: destination, port: target.port, mark: target.mark, uid: target.uid, interface: required)
    }

    // MARK: Judging one answer

    func judge(_ answer: RouteAnswer, to destination: IPAddress) -> Finding {
        switch answer {
        case .refused(let code): return Finding(status: .unsatisfied(.init(code)), family: destination.family)
        case .route(let route):
            var finding = Finding(
                status: .satisfied, family: destination.family, interface: route.interface, source: route.source, gateway: route.gateway)
            finding.status = status(of: route, to: destination)
            return finding
        }
    }

    private func status(of route: Route, to destination: IPAddress) -> NetworkPath.Status {
        switch route.type {
        case 6: return .unsatisfied(.blackhole)
        case 7: return .unsatisfied(.unreachable)
        case 8: return .unsatisfied(.prohibited)
        case 9: return .unsatisfied(.noRoute)
        default: break
        }
        guard let link = table.links[route.interface], link.isUp else { return .unsatisfied(.interfaceDown) }
        // What is for this host itself needs no wire.
        if route.isLocal { return .satisfied }
        if link.isDormant { return .requiresConnection }
        if !link.hasCarrier || route.isLinkDown { return .unsatisfied(.noCarrier) }
        if settings.excludedKinds.contains(link.kind) { return .unsatisfied(.notPermitted) }
        return hasUsableSource(route, to: destination) ? .satisfied : .unsatisfied(missingSource(route, destination.family))
    }

    private func hasUsableSource(_ route: Route, to destination: IPAddress) -> Bool {
        guard let source = route.source, !source.isUnspecified, !table.isUnready(source, on: route.interface) else { return false }
        return source.isUsableSource || (source.isLinkLocal && destination.isLinkLocal)
    }

    private func missingSource(_ route: Route, _ family: IPAddress.Family) -> NetworkPath.Reason {
        table.hasUnreadyAddress(on: route.interface, family: family) ? .addressNotReady : .noAddress
    }

    // MARK: Adding up

    private func path(from findings: [Finding]) -> NetworkPath {
        var path = NetworkPath(status: Self.combined(findings.map(\.status)))
        let good = findings.filter { $0.status == .satisfied }
        path.supportsIPv4 = good.contains { $0.family == .v4 }
        path.supportsIPv6 = good.contains { $0.family == .v6 }
        // A family that does not work says nothing about the path of one that does.
        let told = good.isEmpty ? findings.filter { $0.interface != 0 } : good
        for finding in told {
            if let interface = table.links[finding.interface]?.interface { path.interfaces.appendIfNew(interface) }
            if let gateway = finding.gateway { path.gateways.appendIfNew(gateway) }
            if let source = finding.source, !source.isUnspecified, finding.status == .satisfied { path.localAddresses.appendIfNew(source) }
        }
        return path
    }

    /// One family is enough. Else the reason that says most, which "no route" never is.
    static func combined(_ statuses: [NetworkPath.Status]) -> NetworkPath.Status {
        if statuses.contains(.satisfied) { return .satisfied }
        if statuses.contains(.requiresConnection) { return .requiresConnection }
        let order: [NetworkPath.Reason] = [
            .noCarrier, .interfaceDown, .addressNotReady, .noAddress, .prohibited, .blackhole, .unreachable, .notPermitted, .noRoute,
        ]
        return order.lazy.map(NetworkPath.Status.unsatisfied).first(where: statuses.contains) ?? .unsatisfied(.noRoute)
    }

    /// Others that would lead there, had they been preferred.
    private func alternatives(
        to chosen: [NetworkInterface], _ target: NetworkPath.Target, _ oracle: inout some RouteOracle & ~Copyable
    ) -> [NetworkInterface] {
        var found: [NetworkInterface] = []
        for link in table.links.values.sorted(by: { $0.index < $1.index })
        where link.isUp && link.hasCarrier && !link.isLoopback && !chosen.contains(link.interface) {
            for family in [IPAddress.Family.v6, .v4] {
                guard let sample = settings.references.first(where: { $0.family == family }) else { continue }
                var query = query(sample, target)
                query.interface = link.index
                if case .route(let route) = oracle.answer(query), judge(.route(route), to: sample).status == .satisfied {
                    found.appendIfNew(link.interface)
                }
            }
        }
        return found
    }

    private func supportsDNS(_ target: NetworkPath.Target, _ oracle: inout some RouteOracle & ~Copyable) -> Bool {
        for server in settings.nameServers {
            let answer = oracle.answer(RouteQuery(destination: server, port: nil, mark: target.mark, uid: target.uid))
            if judge(answer, to: server).status == .satisfied { return true }
        }
        return false
    }
}

extension NetworkPath.Reason {
    /// From what a route lookup, or connect(2), refuses with.
    init(_ code: Int32) {
        switch code {
        case EHOSTUNREACH: self = .unreachable
        case EACCES: self = .prohibited
        case EINVAL: self = .blackhole
        case EPERM: self = .notPermitted
        case EADDRNOTAVAIL: self = .noAddress
        default: self = .noRoute
        }
    }
}

extension Array where Element: Equatable {
    fileprivate mutating func appendIfNew(_ element: Element) { if !contains(element) { append(element) } }
}
