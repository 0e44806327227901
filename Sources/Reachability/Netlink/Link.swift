import CNetlink

/// An interface as the kernel describes it (pure).
struct Link: Equatable {
    var index: UInt32
    var name: String
    /// `ARPHRD_…`.
    var hardwareType: UInt16
    /// `IFF_…`.
    var flags: UInt32
    /// `IF_OPER_…`.
    var operationalState: UInt8
    /// The kind of a virtual link, such as `veth` or `wireguard`.
    var driver: String
    /// The name in sysfs or a guess from the above; see `InterfaceClassifier`.
    var kind: NetworkInterface.Kind = .other

    private static let up: UInt32 = 1
    private static let lowerUp: UInt32 = 1 << 16
    private static let dormant: UInt32 = 1 << 17

    var isUp: Bool { flags & Self.up != 0 }
    var isLoopback: Bool { hardwareType == 772 }
    var isDormant: Bool { operationalState == 5 || (operationalState == 0 && flags & Self.dormant != 0) }
    /// Loopback and tunnels never leave the state "unknown"; for them the flag decides.
    var hasCarrier: Bool {
        operationalState == 6 || (operationalState == 0 && flags & Self.lowerUp != 0 && flags & Self.dormant == 0)
    }

    var canCarry: Bool { isUp && hasCarrier }

    /// What changes a path. Statistics, MTU and alternative names come with messages too, and change none.
    func hasSameEffect(as other: Link) -> Bool {
        isUp == other.isUp && hasCarrier == other.hasCarrier && isDormant == other.isDormant && name == other.name
            && kind == other.kind && driver == other.driver && hardwareType == other.hardwareType
    }

    var interface: NetworkInterface { NetworkInterface(name: name, index: index, kind: kind) }
}

extension Link {
    /// From RTM_NEWLINK or RTM_DELLINK; nil where it is cut short, or tells a part only: a bridge tells of its ports in messages of its own
    /// family, and the wireless extensions send their events in this form, without a state.
    init?(_ message: NetlinkMessage) {
        let payload = message.payload
        guard payload.first == 0, let type = payload.value(at: 2, as: UInt16.self), let index = payload.value(at: 4, as: UInt32.self),
            index != 0,
            let flags = payload.value(at: 8, as: UInt32.self), let attributes = RouteAttributes(of: message, after: 16)
        else { return nil }
        self.init(index: index, name: "", hardwareType: type, flags: flags, operationalState: 0, driver: "")
        var hasState = false
        for attribute in attributes {
            switch Int(attribute.type) {
            case Int(IFLA_WIRELESS): return nil
            case Int(IFLA_IFNAME): name = attribute.payload.text
            case Int(IFLA_OPERSTATE):
                operationalState = attribute.payload.first ?? 0
                hasState = true
            case Int(IFLA_LINKINFO):
                for nested in RouteAttributes(attribute.payload) where Int(nested.type) == Int(IFLA_INFO_KIND) {
                    driver = nested.payload.text
                }
            default: break
            }
        }
        guard hasState else { return nil }
    }
}
