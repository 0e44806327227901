package import HTTPTypes

/// The field `Content-Range` (RFC 9110 section 14.4).
package struct ContentRange: Sendable, Equatable {
    /// Nil in a 416.
    package let range: ByteRange?
    /// The length of the whole representation, nil when the server does not say.
    package let completeLength: Int64?

    package init(range: ByteRange?, completeLength: Int64?) {
        self.range = range
        self.completeLength = completeLength
    }

    /// Nil when the text is none, or contradicts itself (section 14.4: such a one must not be used).
    package init?(_ text: String) {
        let trimmed = FieldText.trimmed(text[...])
        guard let space = trimmed.utf8.firstIndex(of: 0x20), trimmed[..<space].lowercased() == "bytes" else { return nil }
        let parts = trimmed[space...].utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let (rangeText, lengthText) = (Substring(parts[0]), Substring(parts[1]))
        let length = Self.position(lengthText)
        guard length != nil || lengthText == "*" else { return nil }
        if rangeText == "*" {
            guard length != nil else { return nil }
            self.init(range: nil, completeLength: length)
            return
        }
        let ends = rangeText.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.position(Substring(ends[0])), let last = Self.position(Substring(ends[1])), last < .max,
            let range = ByteRange(first, last + 1), length.map({ range.end <= $0 }) ?? true
        else { return nil }
        self.init(range: range, completeLength: length)
    }

    /// Of a response.
    package init?(_ fields: HTTPFields) {
        guard let line = fields.onlyLine(.contentRange), let value = ContentRange(line) else { return nil }
        self = value
    }

    /// Digits that fit into 63 bits.
    static func position(_ text: Substring) -> Int64? {
        DeltaSeconds.parse(text) == nil ? nil : Int64(text)
    }
}

extension ContentRange: CustomStringConvertible {
    /// As in a field.
    package var description: String {
        let length = completeLength.map(String.init) ?? "*"
        return range.map { "bytes \($0.start)-\($0.end - 1)/\(length)" } ?? "bytes */\(length)"
    }
}
