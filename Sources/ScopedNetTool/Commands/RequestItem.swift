/// One of the items behind the URL, as HTTPie has them (pure).
///
/// | written | means |
/// |---|---|
/// | `name=value`, `name=@FILE` | a member of the body: text, the text of a file |
/// | `name:=value`, `name:=@FILE` | a member of the body that is JSON: `3`, `true`, `[1,2]`, a file's |
/// | `name==value` | a parameter of the URL's query |
/// | `Name:value` | a header field |
/// | `name@FILE`, `name@FILE;type=TYPE` | a file of a multipart form |
///
/// The first separator counts, and of those that begin there the longest. A backslash takes its meaning from the character behind it.
struct RequestItem: Sendable, Hashable {
    enum Kind: String, Sendable, CaseIterable {
        case jsonFile = ":=@"
        case textFile = "=@"
        case json = ":="
        case query = "=="
        case text = "="
        case header = ":"
        case file = "@"
    }

    let kind: Kind
    let name: String
    let value: String

    var readsStandardInput: Bool { value == "-" && (kind == .textFile || kind == .jsonFile) }

    /// Nil for what has no separator, or nothing in front of it.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        var name: [UInt8] = []
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count, Self.isSpecial(bytes[index + 1]) {
                name.append(bytes[index + 1])
                index += 2
                continue
            }
            if let kind = Kind.allCases.first(where: { bytes[index...].starts(with: $0.rawValue.utf8) }) {
                guard !name.isEmpty else { return nil }
                self.kind = kind
                self.name = String(decoding: name, as: UTF8.self)
                value = String(decoding: bytes[(index + kind.rawValue.utf8.count)...], as: UTF8.self)
                return
            }
            name.append(bytes[index])
            index += 1
        }
        return nil
    }

    private static func isSpecial(_ byte: UInt8) -> Bool { ":=@\\".utf8.contains(byte) }

    /// Of `name@FILE;type=TYPE`.
    var file: (path: String, type: String?) {
        guard let mark = value.range(of: ";type=") else { return (value, nil) }
        return (String(value[..<mark.lowerBound]), String(value[mark.upperBound...]))
    }

    /// It is a part of the body.
    var isBody: Bool { kind != .header && kind != .query }
}

extension String {
    /// The last place of some text. By bytes: what follows may be a letter of any country.
    fileprivate func range(of text: String) -> Range<Index>? {
        let (whole, part) = (Array(utf8), Array(text.utf8))
        guard whole.count >= part.count else { return nil }
        for start in stride(from: whole.count - part.count, through: 0, by: -1) where whole[start...].starts(with: part) {
            return utf8.index(startIndex, offsetBy: start)..<utf8.index(startIndex, offsetBy: start + part.count)
        }
        return nil
    }
}
