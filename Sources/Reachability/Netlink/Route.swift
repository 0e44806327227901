import CNetlink
import SystemSupport

/// The kernel's answer to "which way to this destination?" (pure).
struct Route: Equatable {
    var interface: UInt32 = 0
    var source: IPAddress?
    var gateway: IPAddress?
    /// `RTN_…`.
    var type: UInt8 = 1
    /// The length of the prefix that matched, where the kernel was asked for it: 0 is a default route.
    var matchedPrefix: UInt8?
    /// The route's interface has no carrier.
    var isLinkDown = false

    /// Longer prefixes are no default route.
    static let longestDefaultPrefix: UInt8 = 3

    var isLocal: Bool { type == UInt8(RTN_LOCAL) }
}

extension Route {
    /// From RTM_NEWROUTE; nil where it is cut short.
    init?(_ message: NetlinkMessage) {
        let payload = message.payload
        guard let prefix = payload.value(at: 1, as: UInt8.self), let type = payload.value(at: 7, as: UInt8.self),
            let flags = payload.value(at: 8, as: UInt32.self), let attributes = RouteAttributes(of: message, after: 12)
        else { return nil }
        self.type = type
        matchedPrefix = prefix
        isLinkDown = flags & UInt32(RTNH_F_LINKDOWN | RTNH_F_DEAD) != 0
        for attribute in attributes {
            switch Int(attribute.type) {
            case Int(RTA_OIF.rawValue): interface = attribute.payload.value(at: 0, as: UInt32.self) ?? 0
            case Int(RTA_PREFSRC.rawValue): source = IPAddress(bytes: attribute.payload)
            case Int(RTA_GATEWAY.rawValue): gateway = IPAddress(bytes: attribute.payload)
            case Int(RTA_VIA.rawValue) where attribute.payload.count > 2:
                // A gateway of the other family: two bytes name it.
                gateway = IPAddress(bytes: attribute.payload.dropFirst(2))
            default: break
            }
        }
        if let gateway, gateway.isLinkLocal, gateway.family == .v6 { self.gateway = gateway.with(scopeID: interface) }
    }
}

/// A question to the kernel.
struct RouteQuery: Hashable {
    var destination: IPAddress
    var port: UInt16?
    var mark: UInt32?
    var uid: UInt32?
    /// Only ways over this interface.
    var interface: UInt32?
}

enum RouteAnswer: Equatable {
    case route(Route)
    /// The number connect(2) would give too.
    case refused(Int32)

    /// The question could not be asked.
    var shortage: SystemFailure? {
        guard case .refused(let code) = self else { return nil }
        let failure = SystemFailure("route lookup", code)
        return failure.meansShortage ? failure : nil
    }
}

/// Whoever answers questions about routes: the kernel by netlink, the kernel by connect(2), a script in a test.
protocol RouteOracle: ~Copyable {
    mutating func answer(_ query: RouteQuery) -> RouteAnswer
}
