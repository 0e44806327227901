package import HTTPTypes

/// An entity tag (RFC 9110 section 8.8.3).
package struct EntityTag: Sendable, Hashable {
    /// Two representations with a weak tag are equivalent, not equal byte for byte.
    package let isWeak: Bool
    /// What is between the quotes, one scalar for each byte.
    package let opaque: String
    /// Not by the grammar; ``opaque`` is all of it. Never strong.
    package let isMalformed: Bool

    /// Nil when the text is not one tag. `W` is a capital, and the quotes are part of it.
    package init?(_ text: some StringProtocol) {
        let text = FieldText.trimmed(Substring(text))
        let isWeak = text.utf8.starts(with: "W/".utf8)
        let quoted = isWeak ? text.utf8.dropFirst(2) : text.utf8[...]
        guard quoted.count >= 2, quoted.first == UInt8(ascii: "\""), quoted.last == UInt8(ascii: "\"") else { return nil }
        let opaque = Substring(quoted.dropFirst().dropLast())
        guard opaque.utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }) else { return nil }
        self.isWeak = isWeak
        isMalformed = false
        self.opaque = String(opaque)
    }

    /// The tag of a response. One without quotes, as some servers write, is sent back as it came and equals only itself.
    package init?(of fields: HTTPFields) {
        guard let line = fields.onlyLine(.eTag) else { return nil }
        self.init(line: line)
    }

    /// The value of the only line of a response.
    init?(line: String) {
        if let tag = EntityTag(line) {
            self = tag
            return
        }
        guard !line.isEmpty, line.utf8.allSatisfy({ $0 > 0x20 && $0 != UInt8(ascii: ",") && $0 != 0x7F }) else { return nil }
        isWeak = true
        isMalformed = true
        opaque = line
    }

    /// Both strong and equal (section 8.8.3.2).
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }
    /// Equal but for the weakness.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque && isMalformed == other.isMalformed }

    /// The tags of a list such as `If-None-Match`; what is no tag is left out. Commas in a tag separate nothing.
    static func list(_ line: String) -> [EntityTag] {
        FieldText.members(line, hasEscapes: false).compactMap { EntityTag($0) }
    }
}

extension EntityTag: CustomStringConvertible {
    /// As in a field.
    package var description: String { isMalformed ? opaque : (isWeak ? "W/" : "") + "\"\(opaque)\"" }
}
