import CNetlink
import Glibc
import SystemSupport

/// The two sockets on which the kernel says "look again". The monitor's thread only.
///
/// Links, addresses, rules and next hops come on one, and their content counts. Routes come on the other, where they are but a trigger:
/// it may overflow.
struct NetlinkEvents: ~Copyable {
    let changes: NetlinkSocket
    let routes: NetlinkSocket
    /// What the kernel tells of, and what it was asked to: where the socket takes no filter it tells everything.
    private(set) var interests = RouteInterests.every
    private var wanted = RouteInterests.every
    private let buffer: UnsafeMutableRawBufferPointer

    // RTMGRP_LINK, IPV4_IFADDR, IPV4_RULE, IPV6_IFADDR.
    private static let changeGroups: UInt32 = 0x1 | 0x10 | 0x80 | 0x100
    // RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE.
    private static let routeGroups: UInt32 = 0x40 | 0x400
    // RTNLGRP_IPV6_RULE and RTNLGRP_NEXTHOP, which the mask cannot hold.
    private static let memberships: [Int32] = [19, 32]

    init(receiveBuffer: Int32) throws(SystemFailure) {
        let changes = try NetlinkSocket(groups: Self.changeGroups, memberships: Self.memberships)
        let routes = try NetlinkSocket(groups: Self.routeGroups)
        changes.setReceiveBuffer(receiveBuffer)
        self.changes = changes
        self.routes = routes
        buffer = .allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit { buffer.deallocate() }

    /// - Returns: whether more is heard than before, so that something may have been missed.
    mutating func hear(_ wanted: RouteInterests) -> Bool {
        guard wanted != self.wanted else { return false }
        self.wanted = wanted
        let before = interests
        if case .addresses(let addresses) = wanted, RouteFilter.attach(to: routes, addresses) {
            interests = wanted
        } else {
            RouteFilter.detach(from: routes)
            interests = .every
        }
        return interests.wantsMore(than: before)
    }

    struct Drained {
        var messages: UInt64 = 0
        var change = KernelChange()
        var overran = false
    }

    /// Reads to the very end: after an overrun the kernel drops all that follows until the queue is empty.
    ///
    /// `apply` adds a datagram to the table of interfaces, and notes what that changed.
    borrowing func drainChanges(_ apply: (UnsafeRawBufferPointer, inout KernelChange) -> Void) -> Drained {
        var drained = Drained()
        while true {
            switch changes.receive(into: buffer) {
            case .datagram(let bytes):
                drained.messages += 1
                apply(bytes, &drained.change)
            case .overrun: drained.overran = true
            case .empty, .failed: return drained
            }
        }
    }

    /// Some of what is there. What is left triggers again.
    borrowing func drainRoutes() -> Drained {
        var drained = Drained()
        for _ in 0..<512 {
            switch routes.receive(into: buffer) {
            case .datagram:
                drained.messages += 1
                drained.change.add(.mayDiffer)
            case .overrun:
                drained.overran = true
                drained.change.add(.mayDiffer)
            case .empty, .failed: return drained
            }
        }
        return drained
    }
}
