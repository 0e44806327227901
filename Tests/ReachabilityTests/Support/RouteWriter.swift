import CNetlink
import Glibc

@testable import Reachability

/// Writes many routes at once, as a routing daemon does.
struct RouteWriter: ~Copyable {
    private let socket: NetlinkSocket
    private let interface: UInt32

    init(interface name: String) throws {
        socket = try NetlinkSocket()
        interface = if_nametoindex(name)
    }

    enum Change { case add, delete, replace }

    func write(_ change: Change, _ destinations: some Sequence<(IPAddress, UInt8)>, gateway: IPAddress? = nil) {
        var batch: [UInt8] = []
        var count = 0
        for (destination, prefix) in destinations {
            batch += message(change, destination, prefix, gateway)
            count += 1
            if count % 100 == 0 {
                _ = socket.send(batch)
                batch = []
            }
        }
        if !batch.isEmpty { _ = socket.send(batch) }
    }

    func setDefault(_ change: Change, gateway: IPAddress) {
        let anywhere = gateway.family == .v4 ? IPAddress(0, 0, 0, 0) : IPAddress(bytes: [UInt8](repeating: 0, count: 16))
        if let anywhere { write(change, [(anywhere, UInt8(0))], gateway: gateway) }
    }

    private func message(_ change: Change, _ destination: IPAddress, _ prefix: UInt8, _ gateway: IPAddress?) -> [UInt8] {
        let flags = change == .add ? Int(NLM_F_CREATE) : change == .replace ? Int(NLM_F_CREATE) | Int(NLM_F_REPLACE) : 0
        var request = NetlinkRequest(
            type: change == .delete ? Int(RTM_DELROUTE) : Int(RTM_NEWROUTE), flags: Int(NLM_F_REQUEST) | flags, sequence: 1)
        let scope: UInt8 = gateway == nil && destination.family == .v4 ? 253 : 0
        // Whoever made a route, it is to go.
        let origin: UInt8 = change == .delete ? 0 : 4
        let header: [UInt8] = [destination.systemFamily, prefix, 0, 0, 254, origin, scope, 1]
        for byte in header { request.append(byte) }
        request.append(UInt32(0))
        if prefix > 0 { request.append(attribute: Int(RTA_DST.rawValue), destination.bytes) }
        if let gateway { request.append(attribute: Int(RTA_GATEWAY.rawValue), gateway.bytes) }
        request.append(attribute: Int(RTA_OIF.rawValue), interface)
        return request.finished()
    }

    /// 11.0.0.0/30 and so on, or 2600::/48 and so on: none of them holds an address that stands for "anywhere".
    static func manyRoutes(_ count: Int, _ family: IPAddress.Family = .v4) -> some Sequence<(IPAddress, UInt8)> {
        (0..<count).lazy.map { index in
            if family == .v6 {
                let bytes = [0x26, 0] + [24, 16, 8, 0].map { UInt8(index >> $0 & 255) } + [UInt8](repeating: 0, count: 10)
                return (IPAddress(bytes: bytes) ?? IPAddress(0, 0, 0, 0), 48)
            }
            let value = UInt32(0x0b00_0000) + UInt32(index) * 4
            return (IPAddress(UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)), 30)
        }
    }
}
