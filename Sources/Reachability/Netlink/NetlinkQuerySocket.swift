import CNetlink
import Glibc
import SystemSupport

/// Asks the kernel: dumps and route lookups, one at a time. Used under the lock of its `NetlinkKernel`.
struct NetlinkQuerySocket: ~Copyable {
    private let socket: NetlinkSocket
    private let buffer: UnsafeMutableRawBufferPointer
    private var sequence: UInt32 = 0
    private(set) var lookups: UInt64 = 0
    /// A lookup that could not be made, since this was last taken.
    private var shortage: SystemFailure?

    init() throws(SystemFailure) { self.init(try NetlinkSocket(isBlocking: true)) }

    init(_ socket: consuming NetlinkSocket) {
        self.socket = socket
        // The kernel packs dumps into up to 32 KiB.
        buffer = .allocate(byteCount: 64 << 10, alignment: 16)
    }

    deinit { buffer.deallocate() }

    enum DumpResult { case complete, interrupted, failed(Int32) }

    mutating func dumpLinks(_ body: (NetlinkMessage) -> Void) -> DumpResult {
        sequence &+= 1
        return dump(NetlinkRequest.linkDump(sequence: sequence), body)
    }

    mutating func dumpAddresses(_ body: (NetlinkMessage) -> Void) -> DumpResult {
        sequence &+= 1
        return dump(NetlinkRequest.addressDump(sequence: sequence), body)
    }

    private mutating func dump(_ request: [UInt8], _ body: (NetlinkMessage) -> Void) -> DumpResult {
        let code = socket.send(request)
        guard code == 0 else { return .failed(code) }
        var isInterrupted = false
        while true {
            switch socket.receive(into: buffer) {
            case .empty: return .failed(ETIMEDOUT)
            case .failed(let code): return .failed(code)
            case .overrun: isInterrupted = true
            case .datagram(let bytes):
                for message in NetlinkMessages(bytes) where message.sequence == sequence {
                    if message.isInterrupted { isInterrupted = true }
                    if message.isError { return .failed(message.errorCode ?? EIO) }
                    if message.isDone { return isInterrupted ? .interrupted : .complete }
                    body(message)
                }
            }
        }
    }

    /// Returns when the change is done that the kernel was about: to look at a link takes the lock under which it makes changes.
    mutating func waitForChanges() {
        sequence &+= 1
        guard socket.send(NetlinkRequest.link(1, sequence: sequence)) == 0 else { return }
        while true {
            switch socket.receive(into: buffer) {
            case .empty, .failed: return
            case .overrun: continue
            case .datagram(let bytes): for message in NetlinkMessages(bytes) where message.sequence == sequence { return }
            }
        }
    }

    /// What the kernel would do with a packet, and which route made it so.
    mutating func answer(_ query: RouteQuery) -> RouteAnswer {
        let way = lookUp(query, matchingTable: false)
        guard case .route(var route) = way else { return way }
        let match = lookUp(query, matchingTable: true)
        if match.shortage != nil { return match }
        switch match {
        case .route(let match):
            route.matchedPrefix = match.matchedPrefix
            route.isLinkDown = match.isLinkDown
        case .refused(let code):
            // With an interface asked for and no route, IPv4 assumes that the destination is on the link. It is not.
            if route.type == UInt8(RTN_UNICAST), query.interface != nil { return .refused(code) }
            route.matchedPrefix = nil
        }
        return .route(route)
    }

    private mutating func lookUp(_ query: RouteQuery, matchingTable: Bool) -> RouteAnswer {
        sequence &+= 1
        lookups &+= 1
        let answer = lookUp(NetlinkRequest.route(query, matchingTable: matchingTable, sequence: sequence))
        if let failure = answer.shortage { shortage = failure }
        return answer
    }

    mutating func takeShortage() -> SystemFailure? {
        defer { shortage = nil }
        return shortage
    }

    private mutating func lookUp(_ request: [UInt8]) -> RouteAnswer {
        let code = socket.send(request)
        guard code == 0 else { return .refused(code) }
        while true {
            switch socket.receive(into: buffer) {
            case .empty: return .refused(ETIMEDOUT)
            case .failed(let code): return .refused(code)
            case .overrun: continue
            case .datagram(let bytes):
                for message in NetlinkMessages(bytes) where message.sequence == sequence {
                    if message.isError { return .refused(message.errorCode ?? EIO) }
                    if Int32(message.type) == Int32(RTM_NEWROUTE), let route = Route(message) { return .route(route) }
                }
            }
        }
    }
}
