import FoundationEssentials
import Reachability

/// A network path as a line for people, or as JSON.
struct PathReport: Encodable, Sendable {
    struct Interface: Encodable, Sendable {
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
    /// What differs from the path before; `first` for the first.
    let changed: [String]

    init(_ path: NetworkPath, delta: NetworkPath.Delta, target: String, time: Date) {
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
        changed = Self.names.filter { delta.contains($0.0) }.map(\.1)
    }

    private static let names: [(NetworkPath.Delta, String)] = [
        (.first, "first"), (.status, "status"), (.interfaces, "interfaces"), (.gateways, "gateways"), (.localAddresses, "localAddresses"),
        (.remoteAddresses, "remoteAddresses"), (.families, "families"), (.dns, "dns"), (.cost, "cost"), (.validation, "validation"),
    ]
}
