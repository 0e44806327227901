import FoundationEssentials
import Reachability

/// A network path as a line for people, or as JSON.
struct PathReport: Encodable, Sendable {
    struct Interface: Encodable, Sendable, Hashable {
        let name: String
        let index: UInt32
        let kind: String
    }

    let time: String
    let target: String
    let status: String
    let reason: String?
    let ipv4: Bool
    let ipv6: Bool
    let dns: Bool
    let expensive: Bool
    let interfaces: [Interface]
    let gateways: [String]
    let localAddresses: [String]
    let remoteAddresses: [String]
    /// The names of the members that differ from the report before; `first` in the first.
    private(set) var changed: [String] = []

    init(_ path: NetworkPath, after last: PathReport?, target: String, time: Date) {
        self.time = time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        self.target = target
        switch path.status {
        case .satisfied: (status, reason) = ("satisfied", nil)
        case .unsatisfied(let why): (status, reason) = ("unsatisfied", why.rawValue)
        case .requiresConnection: (status, reason) = ("requiresConnection", nil)
        }
        ipv4 = path.supportsIPv4
        ipv6 = path.supportsIPv6
        dns = path.supportsDNS
        expensive = path.isExpensive
        interfaces = path.interfaces.map { Interface(name: $0.name, index: $0.index, kind: $0.kind.rawValue) }
        gateways = path.gateways.map(\.description)
        localAddresses = path.localAddresses.map(\.description)
        remoteAddresses = path.remoteAddresses.map(\.description)
        changed = last.map(differences) ?? ["first"]
    }

    private func differences(from last: PathReport) -> [String] {
        func name<Value: Equatable>(_ member: KeyPath<PathReport, Value>, _ name: String) -> String? {
            self[keyPath: member] == last[keyPath: member] ? nil : name
        }
        return [
            name(\.status, "status"), name(\.reason, "reason"), name(\.ipv4, "ipv4"), name(\.ipv6, "ipv6"), name(\.dns, "dns"),
            name(\.expensive, "expensive"), name(\.interfaces, "interfaces"), name(\.gateways, "gateways"),
            name(\.localAddresses, "localAddresses"), name(\.remoteAddresses, "remoteAddresses"),
        ].compactMap(\.self)
    }
}
