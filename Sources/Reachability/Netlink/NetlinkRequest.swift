import CNetlink

/// The bytes of a request (pure).
struct NetlinkRequest {
    private(set) var bytes: [UInt8]

    init(type: Int, flags: Int, sequence: UInt32, reserve: Int = 96) {
        bytes = []
        bytes.reserveCapacity(reserve)
        append(UInt32(0))
        append(UInt16(type))
        append(UInt16(flags))
        append(sequence)
        append(UInt32(0))
    }

    mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value) {
        withUnsafeBytes(of: value) { bytes.append(contentsOf: $0) }
    }

    mutating func append(attribute type: Int, _ payload: [UInt8]) {
        append(UInt16(4 + payload.count))
        append(UInt16(type))
        bytes.append(contentsOf: payload)
        while bytes.count % 4 != 0 { bytes.append(0) }
    }

    mutating func append<Value: FixedWidthInteger & BitwiseCopyable>(attribute type: Int, _ value: Value) {
        append(attribute: type, withUnsafeBytes(of: value) { Array($0) })
    }

    /// The message with its length filled in.
    consuming func finished() -> [UInt8] {
        withUnsafeBytes(of: UInt32(bytes.count)) { bytes.replaceSubrange(0..<4, with: $0) }
        return bytes
    }
}

extension NetlinkRequest {
    static func linkDump(sequence: UInt32) -> [UInt8] {
        var request = NetlinkRequest(type: Int(RTM_GETLINK), flags: Int(NLM_F_REQUEST | NLM_F_DUMP), sequence: sequence)
        for _ in 0..<4 { request.append(UInt32(0)) }
        // Without the counters an answer is a quarter shorter.
        request.append(attribute: Int(IFLA_EXT_MASK), UInt32(8))
        return request.finished()
    }

    /// One link, without its counters.
    static func link(_ index: UInt32, sequence: UInt32) -> [UInt8] {
        var request = NetlinkRequest(type: Int(RTM_GETLINK), flags: Int(NLM_F_REQUEST), sequence: sequence)
        request.append(UInt32(0))
        request.append(index)
        for _ in 0..<2 { request.append(UInt32(0)) }
        request.append(attribute: Int(IFLA_EXT_MASK), UInt32(8))
        return request.finished()
    }

    static func addressDump(sequence: UInt32) -> [UInt8] {
        var request = NetlinkRequest(type: Int(RTM_GETADDR), flags: Int(NLM_F_REQUEST | NLM_F_DUMP), sequence: sequence)
        for _ in 0..<2 { request.append(UInt32(0)) }
        return request.finished()
    }

    /// Makes a query of a route. With `matchingTable` it asks which route of which table matched, instead of the way a packet would go.
    static func route(_ query: RouteQuery, matchingTable: Bool, sequence: UInt32) -> [UInt8] {
        var request = NetlinkRequest(type: Int(RTM_GETROUTE), flags: Int(NLM_F_REQUEST), sequence: sequence)
        let destination = query.destination
        let bytes = destination.bytes
        request.append(destination.systemFamily)
        request.append(UInt8(bytes.count * 8))
        for _ in 0..<6 { request.append(UInt8(0)) }
        request.append(matchingTable ? UInt32(RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH) : UInt32(RTM_F_LOOKUP_TABLE))
        request.append(attribute: Int(RTA_DST.rawValue), bytes)
        if let interface = query.interface ?? (destination.scopeID != 0 ? destination.scopeID : nil) {
            request.append(attribute: Int(RTA_OIF.rawValue), interface)
        }
        if let mark = query.mark { request.append(attribute: Int(RTA_MARK.rawValue), mark) }
        if let uid = query.uid { request.append(attribute: Int(RTA_UID.rawValue), uid) }
        if let port = query.port {
            request.append(attribute: Int(RTA_IP_PROTO.rawValue), [6])
            request.append(attribute: Int(RTA_DPORT.rawValue), port.bigEndian)
        }
        return request.finished()
    }
}
