package import FoundationEssentials
import HTTPTypes

/// A stored response as bytes: what the store keeps beside the body. Numbers are little-endian, texts and lists come after their length.
extension StoredResponse {
    /// Raised with every change of the form: a store of another version is replaced, not read.
    package static let codingVersion = 1

    package func encoded() -> Data {
        var fields = FieldWriter()
        for field in head.fields { fields.append(field) }
        return Self.encoded(
            status: head.status, reason: head.reason, method: method, times: (requestTime, responseTime), isInvalidated: isInvalidated,
            version: version, sensitiveValue: sensitiveValue, content: content, fields: fields, vary: vary)
    }

    static func encoded(
        status: Int, reason: String, method: HTTPRequest.Method, times: (request: WallTime, response: WallTime), isInvalidated: Bool,
        version: String, sensitiveValue: String?, content: StoredContent, fields: FieldWriter, vary: VaryRule
    ) -> Data {
        var writer = Writer()
        writer.bytes.reserveCapacity(fields.bytes.count + 160)
        writer.bytes.append(number: UInt64(status))
        writer.text(reason)
        writer.text(method.rawValue)
        writer.bytes.append(number: times.request.secondsSince1970.bitPattern)
        writer.bytes.append(number: times.response.secondsSince1970.bitPattern)
        writer.bytes.append(isInvalidated ? 1 : 0)
        writer.text(version)
        writer.optional(sensitiveValue)
        writer.content(content)
        writer.bytes.append(count: fields.count)
        writer.bytes.append(contentsOf: fields.bytes)
        writer.vary(vary)
        return Data(writer.bytes)
    }

    /// Nil for anything that ``encoded()`` did not write.
    package init?(decoding data: Data) {
        var reader = Reader(data)
        guard let status = reader.number(), (100...999).contains(status), let reason = reader.text(),
            let method = reader.text().flatMap({ HTTPRequest.Method($0) }),
            let requestTime = reader.number(), let responseTime = reader.number(), let flag = reader.byte(), flag <= 1,
            let version = reader.text(), let sensitiveValue = reader.optional(), let content = reader.content(),
            let fields = reader.fields(), let vary = reader.vary(), reader.isAtEnd
        else { return nil }
        self.init(
            head: CacheHead(status: Int(status), reason: reason, fields: fields), method: method,
            requestTime: WallTime(secondsSince1970: Double(bitPattern: requestTime)),
            responseTime: WallTime(secondsSince1970: Double(bitPattern: responseTime)), vary: vary, content: content,
            isInvalidated: flag == 1, version: version, sensitiveValue: sensitiveValue)
    }
}

private struct Writer {
    var bytes: [UInt8] = []

    mutating func text(_ value: String) { bytes.append(counted: value.utf8) }
    mutating func optional(_ value: String?) {
        bytes.append(value == nil ? 0 : 1)
        if let value { text(value) }
    }

    mutating func vary(_ vary: VaryRule) {
        bytes.append(count: vary.names.count)
        vary.names.forEach { text($0) }
        // Without names there is one selection, and nothing to say of it.
        guard !vary.names.isEmpty else { return }
        bytes.append(count: vary.selections.count)
        for selection in vary.selections { selection.forEach { optional($0) } }
    }

    mutating func content(_ content: StoredContent) {
        switch content {
        // Never stored: it becomes one of the others first. Read back it is refused.
        case .pending: bytes.append(0)
        case .complete(let length):
            bytes.append(1)
            bytes.append(number: UInt64(bitPattern: length))
        case .part(let range, let length):
            bytes.append(2)
            bytes.append(number: UInt64(bitPattern: range.start))
            bytes.append(number: UInt64(bitPattern: range.end))
            bytes.append(number: UInt64(bitPattern: length ?? -1))
        case .verbatim(let range, let length):
            bytes.append(3)
            text(range)
            bytes.append(number: UInt64(bitPattern: length))
        }
    }
}

private struct Reader {
    private let bytes: [UInt8]
    private var place = 0

    init(_ data: Data) { bytes = Array(data) }

    var isAtEnd: Bool { place == bytes.count }

    mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return bytes[place]
    }

    private mutating func little(_ count: Int) -> UInt64? {
        guard bytes.count - place >= count else { return nil }
        defer { place += count }
        return bytes[place..<(place + count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func number() -> UInt64? { little(8) }

    /// Of elements of at least one byte each: a count that the rest cannot hold is no count.
    mutating func count() -> Int? { little(4).map { Int($0) }.flatMap { $0 <= bytes.count - place ? $0 : nil } }

    mutating func slice() -> ArraySlice<UInt8>? {
        guard let count = count() else { return nil }
        defer { place += count }
        return bytes[place..<(place + count)]
    }

    mutating func text() -> String? { slice().flatMap { String(validating: $0, as: UTF8.self) } }

    /// The outer nil is a failure, the inner one a value that is not there.
    mutating func optional() -> String?? {
        switch byte() {
        case 0: .some(nil)
        case 1: text().map { .some($0) }
        default: nil
        }
    }

    mutating func length() -> Int64? { number().map { Int64(bitPattern: $0) }.flatMap { $0 >= 0 ? $0 : nil } }

    mutating func content() -> StoredContent? {
        switch byte() {
        case 1: return length().map { .complete(length: $0) }
        case 2:
            guard let start = length(), let end = length(), let range = ByteRange(start, end), let whole = number() else { return nil }
            let completeLength = Int64(bitPattern: whole)
            guard completeLength >= -1, completeLength == -1 || completeLength >= end else { return nil }
            return .part(range, completeLength: completeLength == -1 ? nil : completeLength)
        case 3:
            guard let range = text(), let length = length() else { return nil }
            return .verbatim(range: range, length: length)
        default: return nil
        }
    }

    mutating func fields() -> HTTPFields? {
        guard let count = count() else { return nil }
        var fields = HTTPFields()
        for _ in 0..<count {
            guard let name = text().flatMap({ HTTPField.Name($0) }), let value = slice(),
                value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    mutating func vary() -> VaryRule? {
        guard let count = count() else { return nil }
        var names: [String] = []
        for _ in 0..<count {
            guard let name = text() else { return nil }
            names.append(name)
        }
        guard count > 0 else { return VaryRule(names: [], selections: [[]]) }
        guard let rows = self.count() else { return nil }
        var selections: [[String?]] = []
        for _ in 0..<rows {
            var selection: [String?] = []
            for _ in 0..<count {
                guard let value = optional() else { return nil }
                selection.append(value)
            }
            selections.append(selection)
        }
        return VaryRule(names: names, selections: selections)
    }
}
