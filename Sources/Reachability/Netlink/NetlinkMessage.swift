import CNetlink

/// One message of a netlink datagram, bounds checked (pure). The bytes belong to the buffer it was read from.
struct NetlinkMessage {
    let type: UInt16
    let flags: UInt16
    let sequence: UInt32
    let port: UInt32
    let payload: UnsafeRawBufferPointer

    static let headerSize = 16
    /// Part of a dump during which the kernel's tables changed: the dump may have missed something.
    var isInterrupted: Bool { flags & UInt16(NLM_F_DUMP_INTR) != 0 }
    var isError: Bool { type == UInt16(NLMSG_ERROR) }
    var isDone: Bool { type == UInt16(NLMSG_DONE) }

    /// The error number of an error or of the end of a dump, 0 for success; nil where it is cut short.
    var errorCode: Int32? {
        guard let code = payload.value(at: 0, as: Int32.self), code != .min else { return nil }
        return -code
    }
}

/// The messages of one datagram; stops at the first that does not fit.
struct NetlinkMessages: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    init(_ datagram: UnsafeRawBufferPointer) { rest = datagram }

    mutating func next() -> NetlinkMessage? {
        guard let length = rest.value(at: 0, as: UInt32.self).map(Int.init), length >= NetlinkMessage.headerSize, length <= rest.count,
            let type = rest.value(at: 4, as: UInt16.self), let flags = rest.value(at: 6, as: UInt16.self),
            let sequence = rest.value(at: 8, as: UInt32.self), let port = rest.value(at: 12, as: UInt32.self)
        else { return nil }
        let payload = rest.slice(from: NetlinkMessage.headerSize, to: length)
        rest = rest.slice(from: Swift.min((length + 3) & ~3, rest.count), to: rest.count)
        return NetlinkMessage(type: type, flags: flags, sequence: sequence, port: port, payload: payload)
    }
}

/// An attribute: a type and its bytes.
struct RouteAttribute {
    let type: UInt16
    let payload: UnsafeRawBufferPointer
}

/// The attributes that follow a message's fixed part, or are nested in another; stops at the first that does not fit.
struct RouteAttributes: Sequence, IteratorProtocol {
    private var rest: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { rest = bytes }

    /// Nil when the message is shorter than its fixed part.
    init?(of message: NetlinkMessage, after fixedSize: Int) {
        guard message.payload.count >= fixedSize else { return nil }
        rest = message.payload.slice(from: fixedSize, to: message.payload.count)
    }

    mutating func next() -> RouteAttribute? {
        guard let length = rest.value(at: 0, as: UInt16.self).map(Int.init), length >= 4, length <= rest.count,
            let type = rest.value(at: 2, as: UInt16.self)
        else { return nil }
        let payload = rest.slice(from: 4, to: length)
        rest = rest.slice(from: Swift.min((length + 3) & ~3, rest.count), to: rest.count)
        // The two upper bits say "nested" and "network byte order".
        return RouteAttribute(type: type & 0x3fff, payload: payload)
    }
}

extension UnsafeRawBufferPointer {
    /// The value at an offset, in the byte order of the host; nil where it does not fit.
    func value<Value: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Value.Type) -> Value? {
        guard offset >= 0, count - offset >= MemoryLayout<Value>.size else { return nil }
        return loadUnaligned(fromByteOffset: offset, as: type)
    }

    func slice(from start: Int, to end: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[start..<end]) }

    /// Text up to the first NUL or the end. Interface names may be any bytes.
    var text: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }
}
