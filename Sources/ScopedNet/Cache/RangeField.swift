import HTTPTypes

/// The field `Range` (RFC 9110 section 14.2).
package enum RangeField: Sendable, Equatable {
    /// One range of bytes.
    case single(RangeSpec)
    /// Several ranges: left to the server, as the answer is a multipart message.
    case several
    /// Another unit, or not by the grammar: to be ignored, so that the whole representation is asked for.
    case ignored

    package init(_ text: String) {
        let trimmed = FieldText.trimmed(text[...])
        guard let equals = trimmed.utf8.firstIndex(of: UInt8(ascii: "=")), trimmed[..<equals].lowercased() == "bytes" else {
            self = .ignored
            return
        }
        let members = FieldText.members(String(Substring(trimmed[equals...].utf8.dropFirst())))
        let specs = members.compactMap { RangeSpec($0) }
        guard specs.count == members.count, let first = specs.first else {
            self = .ignored
            return
        }
        self = specs.count == 1 ? .single(first) : .several
    }

    /// Of a request; nil when there is none, or when the method gives it no meaning (section 14.2).
    package init?(_ request: CacheRequest) {
        guard request.method == .get, request.fields.contains(.range) else { return nil }
        self = request.fields.onlyLine(.range).map(RangeField.init) ?? .ignored
    }
}

/// One member of a `Range` field.
package enum RangeSpec: Sendable, Equatable {
    /// From here, up to and with the last byte; nil is the end.
    case from(Int64, last: Int64?)
    /// So many bytes at the end.
    case suffix(Int64)

    init?(_ text: Substring) {
        guard let hyphen = text.utf8.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let firstText = FieldText.trimmed(text[..<hyphen])
        let lastText = FieldText.trimmed(Substring(text[hyphen...].utf8.dropFirst()))
        switch (firstText.isEmpty, lastText.isEmpty) {
        case (true, true): return nil
        case (true, false):
            guard let count = ContentRange.position(lastText) else { return nil }
            self = .suffix(count)
        case (false, true):
            guard let first = ContentRange.position(firstText) else { return nil }
            self = .from(first, last: nil)
        case (false, false):
            guard let first = ContentRange.position(firstText), let last = ContentRange.position(lastText), first <= last else {
                return nil
            }
            self = .from(first, last: last)
        }
    }

    /// The bytes of a representation of this length, or nil when there are none to give (416).
    package func resolved(length: Int64) -> ByteRange? {
        switch self {
        case .from(let first, let last):
            // Overflow: `last` may be the largest number there is.
            ByteRange(first, min(last ?? .max, length - 1) + 1)
        case .suffix(let count): ByteRange(max(0, length - count), length)
        }
    }

    /// The bytes when the length of the whole is unknown: only what names both ends.
    package var resolvedWithoutLength: ByteRange? {
        guard case .from(let first, let last?) = self, last < .max else { return nil }
        return ByteRange(first, last + 1)
    }
}
