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

        package init(headBytes: Int = 256 << 10, fields: Int = 1_000) {
            self.headBytes = headBytes
            self.fields = fields
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

    private let limits: Limits
    private var phase = Phase.beforeStatusLine
    private var receivedBytes = 0
    private var fieldCount = 0
    /// Whether a folded line has something to be joined to.
    private var canFold = false
    private var reason: [UInt8] = []

    /// The version of the status line.
    package private(set) var version = Version.http1_1
    /// The status, or 0 before the first status line.
    package private(set) var status = 0
    /// The number of lines of the latest head that were ignored.
    package private(set) var skippedLines = 0
    /// The fields of the latest head, each as `name:value` and a line feed.
    package private(set) var fieldBytes: [UInt8] = []
    /// The trailer fields, in the same form.
    package private(set) var trailerBytes: [UInt8] = []

    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a complete head is there that is not an interim one.
    package var isComplete: Bool { phase == .complete }

    /// The text behind the status, often empty. Bytes that are not UTF-8 are read as Latin-1.
    package var reasonPhrase: String { Self.text(reason) }

    /// Forgets everything but keeps the memory, for the next response.
    package mutating func reset() {
        phase = .beforeStatusLine
        receivedBytes = 0
        status = 0
        clearHead()
    }

    /// Receives one line, with or without its line end.
    package mutating func receive(line: UnsafeRawBufferPointer) throws(ResponseHeadError) -> Line {
        receivedBytes += line.count
        guard receivedBytes <= limits.headBytes else { throw .headTooLarge(limit: limits.headBytes) }
        let line = Self.withoutLineEnd(line)
        switch phase {
        case .beforeStatusLine:
            // Empty lines in front of a message are ignored (RFC 9112 section 2.2).
            if line.isEmpty { return .skipped }
            try startHead(line)
            return .statusLine
        case .inFields:
            if line.isEmpty { return endHead() }
            return try receiveField(line)
        case .complete:
            // Only here can a status line begin a new head. In the middle of a head it would be the server's (or somebody
            // else's) attempt to replace the head, and is skipped like any line that is no field.
            if line.starts(with: Self.statusLinePrefix) {
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

    private static let statusLinePrefix = Array("HTTP/".utf8)

    private mutating func clearHead() {
        fieldCount = 0
        skippedLines = 0
        canFold = false
        fieldBytes.removeAll(keepingCapacity: true)
        trailerBytes.removeAll(keepingCapacity: true)
        reason.removeAll(keepingCapacity: true)
    }

    private mutating func startHead(_ line: UnsafeRawBufferPointer) throws(ResponseHeadError) {
        guard let (version, status, reason) = Self.statusLine(line) else {
            throw .malformedStatusLine(Self.text(Array(line.prefix(64))))
        }
        clearHead()
        self.version = version
        self.status = status
        self.reason.append(contentsOf: reason)
        phase = .inFields
    }

    /// `HTTP/1.1 200 OK`. The minor version of HTTP/2 and 3 and the reason may be absent (RFC 9112 section 4).
    private static func statusLine(_ line: UnsafeRawBufferPointer) -> (Version, Int, UnsafeRawBufferPointer.SubSequence)? {
        guard line.starts(with: statusLinePrefix) else { return nil }
        let parts = line.dropFirst(statusLinePrefix.count).split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, let version = version(parts[0]) else { return nil }
        guard parts[1].count == 3, parts[1].allSatisfy(isDigit), parts[1].first != UInt8(ascii: "0") else { return nil }
        let status = parts[1].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        return (version, status, parts.count == 3 ? parts[2] : line[line.endIndex...])
    }

    private static func version(_ text: UnsafeRawBufferPointer.SubSequence) -> Version? {
        if text.elementsEqual("1.1".utf8) { return .http1_1 }
        if text.elementsEqual("2".utf8) || text.elementsEqual("2.0".utf8) { return .http2 }
        if text.elementsEqual("3".utf8) || text.elementsEqual("3.0".utf8) { return .http3 }
        if text.elementsEqual("1.0".utf8) { return .http1_0 }
        return nil
    }

    private mutating func endHead() -> Line {
        canFold = false
        // 101 ends the HTTP part of the connection, so no other head follows (RFC 9110 section 15.2.2).
        if status < 200 && status != 101 {
            phase = .beforeStatusLine
            return .informational(status)
        }
        phase = .complete
        return .headComplete
    }

    // MARK: - Fields

    private mutating func receiveField(_ line: UnsafeRawBufferPointer) throws(ResponseHeadError) -> Line {
        if Self.isSpace(line[0]) { return fold(line) }
        guard fieldCount < limits.fields else { throw .tooManyFields(limit: limits.fields) }
        fieldCount += 1
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > 0, line[..<colon].allSatisfy(Self.isTokenByte),
            !line.contains(0)
        else {
            canFold = false
            skippedLines += 1
            return .skipped
        }
        canFold = true
        let value = Self.trimmed(line[(colon + 1)...])
        if phase == .complete {
            Self.append(line[...colon], value, to: &trailerBytes)
            return .trailer
        }
        Self.append(line[...colon], value, to: &fieldBytes)
        return .field
    }

    private mutating func fold(_ line: UnsafeRawBufferPointer) -> Line {
        guard canFold, !line.contains(0) else {
            skippedLines += 1
            return .skipped
        }
        let value = Self.trimmed(line[...])
        if phase == .complete {
            Self.extendLast(value, of: &trailerBytes)
            return .trailer
        }
        Self.extendLast(value, of: &fieldBytes)
        return .field
    }

    private typealias Bytes = UnsafeRawBufferPointer.SubSequence

    private static func append(_ nameAndColon: Bytes, _ value: Bytes, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: nameAndColon)
        appendValue(value, to: &bytes)
        bytes.append(0x0a)
    }

    private static func extendLast(_ value: Bytes, of bytes: inout [UInt8]) {
        if value.isEmpty { return }
        bytes.removeLast()
        if bytes.last != UInt8(ascii: ":") { bytes.append(0x20) }
        appendValue(value, to: &bytes)
        bytes.append(0x0a)
    }

    private static func appendValue(_ value: Bytes, to bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: value)
        guard value.contains(where: { $0 == 0x0d || $0 == 0x0a }) else { return }
        for index in start..<bytes.count where bytes[index] == 0x0d || bytes[index] == 0x0a { bytes[index] = 0x20 }
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

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var bytes = bytes
        while let first = bytes.first, isSpace(first) || first == 0x0d { bytes = bytes.dropFirst() }
        while let last = bytes.last, isSpace(last) || last == 0x0d { bytes = bytes.dropLast() }
        return bytes
    }

    static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

    /// A byte of a field name (RFC 9110 section 5.6.2).
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// UTF-8 where the bytes are, else Latin-1, so that no byte is lost.
    static func text(_ bytes: some Collection<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        return String(scalars)
    }
}
