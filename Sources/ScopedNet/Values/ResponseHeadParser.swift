/// Collects the lines of a response head as libcurl's header callback gives them, and answers questions about them.
///
/// Several heads may come for one response: interim ones (1xx), a proxy's answer to CONNECT, rounds of authentication. Each new
/// status line replaces what was there, so in the end the last head counts. Lines behind the final head are trailers.
///
/// Receiving a line copies its bytes and makes no string; fields are looked up in the bytes. What recipients are told to tolerate
/// is normalised on the way in (RFC 9112 section 5):
///
/// - a folded line (obs-fold) is joined to the line before it with one space;
/// - spaces around a value go, a bare CR in it becomes a space;
/// - a line without a colon, with a name that is no token, or with a NUL byte is skipped and counted in ``skippedLines``. It is
///   not an error: such lines are common, browsers ignore them, and the framing does not depend on them here;
/// - bytes above 0x7F (obs-text) stay as they are.
package struct ResponseHeadParser: Sendable {
    package struct Limits: Sendable, Hashable {
        /// The most bytes of all heads and trailers of a response together. The default is 256 KiB.
        package var headBytes: Int
        /// The most field lines of one head with its trailers. The default is 1,000.
        package var fields: Int
        /// The most interim heads in front of a final one. The default is 100.
        package var interimHeads: Int

        package init(headBytes: Int = 256 << 10, fields: Int = 1_000, interimHeads: Int = 100) {
            self.headBytes = headBytes
            self.fields = fields
            self.interimHeads = interimHeads
        }
    }

    package enum Version: Sendable, Hashable {
        case http1_0, http1_1, http2, http3
    }

    /// What a received line was.
    package enum Line: Sendable, Hashable {
        case statusLine
        case field
        /// The end of an interim head with this status, 1xx but not 101. Another head follows.
        case informational(Int)
        /// The end of a head that may be the final one. (It is not if another status line follows.)
        case headComplete
        case trailer
        /// Nothing of use.
        case skipped
    }

    private enum Phase: Sendable {
        case beforeStatusLine, inFields, complete
    }

    private var limits: Limits
    private var phase = Phase.beforeStatusLine
    private var receivedBytes = 0
    private var fieldCount = 0
    private var interimCount = 0
    /// Whether a folded line has something to be joined to.
    private var canFold = false
    /// The version of the status line.
    package private(set) var version = Version.http1_1
    /// The status, or 0 before the first status line.
    package private(set) var status = 0
    /// The number of lines of the latest head that were ignored.
    package private(set) var skippedLines = 0
    /// The reason phrase, and right behind it the fields.
    private(set) var head = ByteStore()
    /// Where the fields begin.
    private(set) var fieldsStart = 0
    private(set) var trailer = ByteStore()
    /// What the fields say of the body's length, as far as that is simple.
    private(set) var declaredLength = BodyLength.none
    /// There is a `Content-Encoding`.
    private(set) var hasContentEncoding = false
    /// There is a `Transfer-Encoding`.
    private(set) var hasTransferEncoding = false
    /// The latest field says where the message ends.
    private var lastFieldFrames = false
    /// The fields of the latest head, each as `name:value` and a line feed.
    package var fieldBytes: [UInt8] { head.bytes(from: fieldsStart) }
    /// The trailer fields, in the same form.
    package var trailerBytes: [UInt8] { trailer.bytes() }

    /// Noted line by line, because it is asked for in every response.
    enum BodyLength: Sendable {
        case none
        /// One number, or the same several times.
        case bytes(Int64)
        /// The fields themselves have to be read.
        case unclear
    }

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a complete head is there that is not an interim one.
    package var isComplete: Bool { phase == .complete }
    /// A head has begun, and has not ended.
    package var isInHead: Bool { phase == .inFields }

    /// The text behind the status, often empty. Bytes that are not UTF-8 are read as Latin-1.
    package var reasonPhrase: String { head.withBytes { Self.text($0[..<fieldsStart]) } }

    /// Forgets everything but keeps the memory, for the next response.
    package mutating func reset(limits: Limits? = nil) {
        if let limits { self.limits = limits }
        phase = .beforeStatusLine
        receivedBytes = 0
        interimCount = 0
        status = 0
        clearHead()
    }

    /// The latest head as it stands. Mutating in name only: asked of a stored property, the parser is not copied for it.
    package mutating func makeHead() -> ResponseHead {
        ResponseHead(
            bytes: head.bytes(), fieldsStart: fieldsStart, version: version, hasContentEncoding: hasContentEncoding, status: status)
    }

    /// Receives one line, with or without its line end.
    package mutating func receive(line: UnsafeRawBufferPointer) throws(ResponseHeadError) -> Line {
        receivedBytes += line.count
        guard receivedBytes <= limits.headBytes else { throw .headTooLarge(limit: limits.headBytes) }
        // Of a connection that ends there, some versions of libcurl give the piece of a line that came. A CR alone ends no head.
        let isWhole = line.last == 0x0a
        let line = Self.withoutLineEnd(line)
        switch phase {
        case .beforeStatusLine:
            // Empty lines in front of a message are ignored (RFC 9112 section 2.2).
            if line.isEmpty { return .skipped }
            try startHead(line)
            return .statusLine
        case .inFields:
            if line.isEmpty { return isWhole ? try endHead() : .skipped }
            return try receiveField(line)
        case .complete:
            // Only here can a status line begin a new head. In the middle of a head it would be the server's (or somebody
            // else's) attempt to replace the head, and is skipped like any line that is no field.
            if Self.isStatusLine(line) {
                try startHead(line)
                return .statusLine
            }
            return try line.isEmpty ? .skipped : receiveField(line)
        }
    }

    /// Receives all lines of a buffer.
    /// - Returns: what the last line was.
    @discardableResult
    package mutating func receive(_ bytes: [UInt8]) throws(ResponseHeadError) -> Line {
        var last = Line.skipped
        var start = 0
        while start < bytes.count {
            let end = bytes[start...].firstIndex(of: 0x0a).map { $0 + 1 } ?? bytes.count
            let range = start..<end
            last = try bytes.withUnsafeBytes { buffer -> Result<Line, ResponseHeadError> in
                do throws(ResponseHeadError) {
                    return .success(try receive(line: UnsafeRawBufferPointer(rebasing: buffer[range])))
                } catch {
                    return .failure(error)
                }
            }.get()
            start = end
        }
        return last
    }

    // MARK: - Heads

    private mutating func clearHead() {
        fieldCount = 0
        skippedLines = 0
        canFold = false
        fieldsStart = 0
        declaredLength = .none
        hasContentEncoding = false
        hasTransferEncoding = false
        lastFieldFrames = false
        head.removeAll()
        trailer.removeAll()
    }

    private mutating func startHead(_ line: UnsafeRawBufferPointer) throws(ResponseHeadError) {
        guard let (version, status, reason) = Self.statusLine(line) else {
            throw .malformedStatusLine(Self.text(Array(line.prefix(64))))
        }
        clearHead()
        self.version = version
        self.status = status
        head.append(reason)
        fieldsStart = head.count
        phase = .inFields
    }

    private static func isStatusLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count >= 5 && line[0] == UInt8(ascii: "H") && line[1] == UInt8(ascii: "T") && line[2] == UInt8(ascii: "T")
            && line[3] == UInt8(ascii: "P") && line[4] == UInt8(ascii: "/")
    }

    /// `HTTP/1.1 200 OK`. The minor version of HTTP/2 and 3 and the reason may be absent (RFC 9112 section 4).
    private static func statusLine(_ line: UnsafeRawBufferPointer) -> (Version, Int, UnsafeRawBufferPointer)? {
        guard isStatusLine(line), let space = line[5...].firstIndex(of: 0x20), let version = version(line[5..<space]) else { return nil }
        let end = space + 4
        guard line.count >= end, line.count == end || line[end] == 0x20 else { return nil }
        var status = 0
        for digit in line[(space + 1)..<end] {
            guard isDigit(digit) else { return nil }
            status = status * 10 + Int(digit - UInt8(ascii: "0"))
        }
        guard status >= 100 else { return nil }
        return (version, status, UnsafeRawBufferPointer(rebasing: line[min(end + 1, line.count)...]))
    }

    private static func version(_ text: UnsafeRawBufferPointer.SubSequence) -> Version? {
        let first = text.startIndex
        switch text.count {
        case 1: return version(text[first], UInt8(ascii: "0"))
        case 3 where text[first + 1] == UInt8(ascii: "."): return version(text[first], text[first + 2])
        default: return nil
        }
    }

    private static func version(_ major: UInt8, _ minor: UInt8) -> Version? {
        switch (major, minor) {
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): .http1_1
        case (UInt8(ascii: "2"), UInt8(ascii: "0")): .http2
        case (UInt8(ascii: "3"), UInt8(ascii: "0")): .http3
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): .http1_0
        default: nil
        }
    }

    private mutating func endHead() throws(ResponseHeadError) -> Line {
        canFold = false
        // 101 ends the HTTP part of the connection, so no other head follows (RFC 9110 section 15.2.2).
        if status < 200 && status != 101 {
            interimCount += 1
            guard interimCount <= limits.interimHeads else { throw .tooManyInterimHeads(limit: limits.interimHeads) }
            phase = .beforeStatusLine
            return .informational(status)
        }
        phase = .complete
        return .headComplete
    }

    // MARK: - Fields

    private mutating func receiveField(_ line: UnsafeRawBufferPointer) throws(ResponseHeadError) -> Line {
        if Self.isSpace(line[0]) { return try fold(line) }
        guard fieldCount < limits.fields else { throw .tooManyFields(limit: limits.fields) }
        fieldCount += 1
        guard let colon = Self.endOfName(line), let value = Self.value(line, from: colon + 1) else {
            // What frames the message is not skipped: somebody on the way may have believed it.
            if Self.beginsWithFramingName(line) { throw .ambiguousFraming("a field that frames the message is malformed") }
            canFold = false
            skippedLines += 1
            return .skipped
        }
        canFold = true
        let name = UnsafeRawBufferPointer(rebasing: line[...colon])
        if phase == .complete {
            Self.append(name, value, to: &trailer)
            return .trailer
        }
        Self.append(name, value, to: &head)
        note(UnsafeRawBufferPointer(rebasing: line[..<colon]), value)
        return .field
    }

    /// What every response is asked is noted here, so that nobody has to search for it.
    @inline(__always)
    private mutating func note(_ name: UnsafeRawBufferPointer, _ value: Value) {
        lastFieldFrames = false
        switch name.count {
        case 14 where FieldLines.matches(name, known: "content-length"):
            noteLength(value)
            lastFieldFrames = true
        case 17 where FieldLines.matches(name, known: "transfer-encoding"):
            hasTransferEncoding = true
            lastFieldFrames = true
        case 16 where FieldLines.matches(name, known: "content-encoding"): hasContentEncoding = true
        default: break
        }
    }

    private mutating func noteLength(_ value: Value) {
        let number = FieldLines.decimal(value.bytes[...])
        switch (declaredLength, number) {
        case (.none, let number?): declaredLength = .bytes(number)
        case (.bytes(let known), let number?) where known == number: break
        default: declaredLength = .unclear
        }
    }

    private mutating func fold(_ line: UnsafeRawBufferPointer) throws(ResponseHeadError) -> Line {
        // libcurl reads the line alone and would frame by half of the value.
        if canFold, phase == .inFields, lastFieldFrames { throw .ambiguousFraming("a field that frames the message is folded") }
        guard canFold, let value = Self.value(line, from: 0) else {
            skippedLines += 1
            return .skipped
        }
        if phase == .complete {
            Self.extendLast(value, of: &trailer)
            return .trailer
        }
        Self.extendLast(value, of: &head)
        return .field
    }

    /// A field value without the spaces around it.
    private struct Value {
        let bytes: UnsafeRawBufferPointer
        let hasLineEnds: Bool
    }

    /// Where the colon is behind a well-formed name.
    @inline(__always)
    private static func endOfName(_ line: UnsafeRawBufferPointer) -> Int? {
        var index = 0
        while index < line.count, isTokenByte(line[index]) { index += 1 }
        return index > 0 && index < line.count && line[index] == UInt8(ascii: ":") ? index : nil
    }

    /// Nil when there is a NUL byte in it.
    @inline(__always)
    private static func value(_ line: UnsafeRawBufferPointer, from start: Int) -> Value? {
        var (start, end) = (start, line.count)
        while start < end, isSpace(line[start]) || line[start] == 0x0d { start += 1 }
        while end > start, isSpace(line[end - 1]) || line[end - 1] == 0x0d { end -= 1 }
        let bytes = UnsafeRawBufferPointer(rebasing: line[start..<end])
        guard mayHaveControls(bytes) else { return Value(bytes: bytes, hasLineEnds: false) }
        var hasLineEnds = false
        for byte in bytes where byte <= 0x0d {
            if byte == 0 { return nil }
            hasLineEnds = hasLineEnds || byte == 0x0d || byte == 0x0a
        }
        return Value(bytes: bytes, hasLineEnds: hasLineEnds)
    }

    /// False when no byte is below 0x0e. Eight at a time: the borrow of each subtraction shows in the byte's top bit.
    private static func mayHaveControls(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (ones, tops) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
        func isBelow(_ word: UInt64) -> Bool { (word &- ones &* 0x0e) & ~word & tops != 0 }
        guard bytes.count >= 8 else { return bytes.contains { $0 < 0x0e } }
        var index = 0
        while index + 8 <= bytes.count {
            if isBelow(bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)) { return true }
            index += 8
        }
        return isBelow(bytes.loadUnaligned(fromByteOffset: bytes.count - 8, as: UInt64.self))
    }

    @inline(__always)
    private static func append(_ nameAndColon: UnsafeRawBufferPointer, _ value: Value, to store: inout ByteStore) {
        store.append(nameAndColon, value.bytes, 0x0a)
        if value.hasLineEnds { blank(value, in: &store) }
    }

    private static func extendLast(_ value: Value, of store: inout ByteStore) {
        if value.bytes.isEmpty { return }
        store.insertBeforeLast(store.byte(beforeLast: 1) == UInt8(ascii: ":") ? nil : 0x20, value.bytes)
        if value.hasLineEnds { blank(value, in: &store) }
    }

    /// Line ends within a value become spaces; the one behind it stays.
    private static func blank(_ value: Value, in store: inout ByteStore) {
        store.replace(inLast: value.bytes.count, skipping: 1, where: { $0 == 0x0d || $0 == 0x0a }, by: 0x20)
    }
}

// MARK: - Bytes

extension ResponseHeadParser {
    private static func withoutLineEnd(_ line: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var count = line.count
        if count > 0, line[count - 1] == 0x0a { count -= 1 }
        if count > 0, line[count - 1] == 0x0d { count -= 1 }
        return UnsafeRawBufferPointer(rebasing: line[..<count])
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    static func isLetter(_ lowercased: UInt8) -> Bool { lowercased >= UInt8(ascii: "a") && lowercased <= UInt8(ascii: "z") }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    /// A byte of a field name (RFC 9110 section 5.6.2).
    @inline(__always)
    static func isTokenByte(_ byte: UInt8) -> Bool {
        // Most are letters and the hyphen.
        if (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "-") { return true }
        return byte < 128 && (byte < 64 ? tokensBelow64 >> UInt64(byte) : tokensFrom64 >> UInt64(byte - 64)) & 1 == 1
    }

    /// One bit for each byte of `!#$%&'*+-.` and the digits.
    private static let tokensBelow64: UInt64 = 0x03ff_6cfa_0000_0000
    /// One bit for each byte, less 64, of the letters and `^_`` ` ``|~`.
    private static let tokensFrom64: UInt64 = 0x57ff_ffff_c7ff_fffe

    /// UTF-8 where the bytes are, else Latin-1, so that no byte is lost.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return String(scalars)
    }
}
