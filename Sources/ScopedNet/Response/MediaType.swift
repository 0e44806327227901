/// A media type and its parameters, as `Content-Type` writes them (RFC 9110 section 8.3.1). (pure)
///
/// ```swift
/// let type = MediaType("application/problem+json; charset=utf-8")
/// type?.essence        // "application/problem+json"
/// type?.suffix         // "json"
/// type?["charset"]     // "utf-8"
/// ```
public struct MediaType: Sendable, Hashable {
    /// What stands before the slash, in lower case.
    public let type: String
    /// What stands behind it, in lower case.
    public let subtype: String
    /// By their names in lower case, values as written and without quotes. Of equal names the first counts; one that is malformed is left out.
    public let parameters: [String: String]

    /// Type and subtype: `text/html`.
    public var essence: String { "\(type)/\(subtype)" }

    /// The structured syntax behind the last plus (RFC 6839): `json` of `application/problem+json`.
    public var suffix: String? {
        guard let plus = subtype.lastIndex(of: "+") else { return nil }
        let suffix = subtype[subtype.index(after: plus)...]
        return suffix.isEmpty ? nil : String(suffix)
    }

    /// A parameter by name, in any case.
    public subscript(name: String) -> String? { parameters[name.lowercased()] }

    /// - Parameter text: the value of a `Content-Type` field. Of several, as of two fields joined, the last that is one counts (RFC 9110 section
    ///   8.3). Nil when none begins with a type and a subtype.
    public init?(_ text: String) {
        guard let found = FieldReader.elements(text).reversed().lazy.compactMap({ MediaType(element: $0) }).first else { return nil }
        self = found
    }

    private init?(element: ArraySlice<UInt8>) {
        var reader = FieldReader(element)
        reader.skipSpaces()
        guard let type = reader.token(), reader.take("/"), let subtype = reader.token() else { return nil }
        reader.skipSpaces()
        guard reader.isAtEnd || reader.peek == UInt8(ascii: ";") else { return nil }
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        parameters = Self.parameters(&reader)
    }

    private static func parameters(_ reader: inout FieldReader) -> [String: String] {
        var found: [String: String] = [:]
        while !reader.isAtEnd {
            if let (name, value) = reader.parameter(), found[name] == nil { found[name] = value }
            reader.skip(to: ";")
            _ = reader.take(";")
        }
        return found
    }
}

extension MediaType: CustomStringConvertible {
    /// As a field value, parameters in the order of their names, quoted where they are no tokens.
    public var description: String {
        parameters.sorted { $0.key < $1.key }.reduce(into: essence) { text, parameter in
            text += "; \(parameter.key)=\(FieldReader.isToken(parameter.value) ? parameter.value : Self.quoted(parameter.value))"
        }
    }

    private static func quoted(_ value: String) -> String {
        "\""
            + value.reduce(into: "") { text, character in
                if character == "\"" || character == "\\" { text.append("\\") }
                text.append(character)
            } + "\""
    }
}

/// Reads the grammar that field values share (RFC 9110 section 5.6). (pure)
private struct FieldReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ element: ArraySlice<UInt8>) { bytes = Array(element) }

    /// What stands between the commas that are in no quotes (section 5.6.1).
    static func elements(_ text: String) -> [ArraySlice<UInt8>] {
        let bytes = Array(text.utf8)
        var elements: [ArraySlice<UInt8>] = []
        var (start, isQuoted, isEscaped) = (0, false, false)
        for (index, byte) in bytes.enumerated() {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if !isQuoted, byte == UInt8(ascii: ",") {
                elements.append(bytes[start..<index])
                start = index + 1
            }
        }
        return elements + [bytes[start...]]
    }

    var isAtEnd: Bool { position >= bytes.count }
    var peek: UInt8? { isAtEnd ? nil : bytes[position] }

    static func isToken(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy(isTokenByte) }

    /// RFC 9110 section 5.6.2.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    mutating func skipSpaces() {
        while let byte = peek, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func skip(to character: Unicode.Scalar) {
        while let byte = peek, byte != UInt8(ascii: character) { position += 1 }
    }

    mutating func token() -> String? {
        let start = position
        while let byte = peek, Self.isTokenByte(byte) { position += 1 }
        return position == start ? nil : String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// A name and a value, and nothing else before the next semicolon or the end.
    mutating func parameter() -> (name: String, value: String)? {
        skipSpaces()
        guard let name = token(), take("=") else { return nil }
        guard let value = peek == UInt8(ascii: "\"") ? quotedText() : token() else { return nil }
        skipSpaces()
        return isAtEnd || peek == UInt8(ascii: ";") ? (name.lowercased(), value) : nil
    }

    private mutating func quotedText() -> String? {
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") {
                guard let next = peek else { return nil }
                text.append(next)
                position += 1
            } else {
                text.append(byte)
            }
        }
        return nil
    }
}
