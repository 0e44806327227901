/// The server's side of an HTTP/2 connection, frame by frame (RFC 9113): it says whatever a test wants.
struct HTTP2Peer {
    enum Kind: UInt8 { case data = 0, headers, priority, reset, settings, push, ping, goAway, windowUpdate, continuation }

    struct Frame {
        var kind: UInt8
        var flags: UInt8
        var stream: UInt32
        var payload: [UInt8]

        func has(_ flag: UInt8) -> Bool { flags & flag != 0 }
    }

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4
    static let acknowledgement: UInt8 = 1

    /// `:status: 200`, from the static table.
    static let ok: [UInt8] = [0x88]

    let connection: RawConnection

    static func bytes(_ kind: Kind, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> [UInt8] {
        bytes(kind.rawValue, flags, stream, payload)
    }

    static func bytes(_ kind: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), kind, flags] + number(stream) + payload
    }

    static func number(_ value: UInt32) -> [UInt8] { [24, 16, 8, 0].map { UInt8(value >> $0 & 255) } }

    static func settings(_ values: [(UInt16, UInt32)]) -> [UInt8] {
        bytes(.settings, 0, 0, values.flatMap { [UInt8($0.0 >> 8), UInt8($0.0 & 255)] + number($0.1) })
    }

    /// A literal field, neither indexed nor Huffman-coded (RFC 7541 section 6.2.2).
    static func field(_ name: String, _ value: String) -> [UInt8] {
        [0x00] + length(name.utf8.count) + Array(name.utf8) + length(value.utf8.count) + Array(value.utf8)
    }

    /// An integer with a prefix of 7 bits (RFC 7541 section 5.1).
    static func length(_ value: Int) -> [UInt8] {
        guard value >= 127 else { return [UInt8(value)] }
        var rest = value - 127
        var bytes: [UInt8] = [127]
        while rest >= 128 {
            bytes.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    /// A whole answer: head, and a text.
    static func answer(_ stream: UInt32, _ text: String) -> [UInt8] {
        bytes(.headers, endHeaders, stream, ok) + bytes(.data, endStream, stream, Array(text.utf8))
    }

    @discardableResult
    func send(_ kind: Kind, _ flags: UInt8 = 0, _ stream: UInt32 = 0, _ payload: [UInt8] = []) -> Bool {
        connection.send(Self.bytes(kind, flags, stream, payload))
    }

    /// Reads the client's preface and sends settings.
    func greet(_ values: [(UInt16, UInt32)] = []) {
        guard connection.read(24) != nil else { return }
        connection.send(Self.settings(values))
    }

    func nextFrame() -> Frame? {
        guard let head = connection.read(9) else { return nil }
        let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        guard let payload = count == 0 ? [] : connection.read(count) else { return nil }
        return Frame(kind: head[3], flags: head[4], stream: stream, payload: payload)
    }

    /// The stream of the next request, or nil when the client is gone or, by a GOAWAY, going. Settings are acknowledged on the way, the rest
    /// is ignored.
    func nextRequest(staysAfterGoAway: Bool = false) -> UInt32? {
        while let frame = nextFrame() {
            if frame.kind == Kind.headers.rawValue { return frame.stream }
            // A client that met a connection error says so and may leave the closing to the server (RFC 9113 section 5.4.1): libcurl 8 does.
            if frame.kind == Kind.goAway.rawValue, !staysAfterGoAway { return nil }
            if frame.kind == Kind.settings.rawValue, !frame.has(Self.acknowledgement) { send(.settings, Self.acknowledgement) }
        }
        return nil
    }
}
