import HTTPTypes

/// Field values as texts that lose nothing: one scalar for each byte (ISO 8859-1).
///
/// A value may hold bytes above 0x7F (obs-text, RFC 9110 section 5.5) which are no UTF-8; read as such they would all become the same
/// replacement character, and two different entity tags equal. The scalars up to U+00FF have no equivalent spellings, so that comparing such
/// texts compares bytes.
enum FieldText {
    static func text(_ field: HTTPField) -> String {
        field.withUnsafeBytesOfValue { text(UnsafeRawBufferPointer($0)) }
    }

    static func text(_ bytes: UnsafeRawBufferPointer) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    }

    /// The field that ``text(_:)`` gives this text for. Scalars above U+00FF, which no such text has, become question marks.
    static func field(_ name: HTTPField.Name, _ text: String) -> HTTPField {
        HTTPField(name: name, value: text.unicodeScalars.map { UInt8(exactly: $0.value) ?? UInt8(ascii: "?") })
    }

    /// Without spaces and tabs at the ends (OWS, RFC 9110 section 5.6.3).
    static func trimmed(_ text: Substring) -> Substring {
        var bytes = text.utf8
        while let first = bytes.first, first == 0x20 || first == 0x09 { bytes = bytes.dropFirst() }
        while let last = bytes.last, last == 0x20 || last == 0x09 { bytes = bytes.dropLast() }
        return Substring(bytes)
    }

    /// The members of a list between the separators that are not in quotes (RFC 9110 section 5.6.1), trimmed, without empty ones.
    ///
    /// A quote that is not closed lasts to the end of the line. Bytes are what is looked at: a comma with a combining mark behind it is one
    /// `Character` and no separator for `split`.
    ///
    /// - Parameters:
    ///   - line: the value of one field line.
    ///   - separator: an ASCII character: the comma between members of a list, or the semicolon between parameters.
    ///   - hasEscapes: true, the default, where a backslash in quotes escapes what follows; in entity tags it is a character like others.
    /// - Returns: the members in their order.
    static func members<Text: StringProtocol>(
        _ line: Text, by separator: Unicode.Scalar = ",", hasEscapes: Bool = true
    ) -> [Substring] where Text.SubSequence == Substring {
        var members: [Substring] = []
        let bytes = line.utf8
        var start = bytes.startIndex
        var index = start
        var isQuoted = false
        func close(_ end: String.Index) {
            let member = trimmed(line[start..<end])
            if !member.isEmpty { members.append(member) }
        }
        while index < bytes.endIndex {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                isQuoted.toggle()
            case UInt8(ascii: "\\") where isQuoted && hasEscapes:
                index = bytes.index(after: index)
                if index == bytes.endIndex { continue }
            case UInt8(ascii: separator) where !isQuoted:
                close(index)
                start = bytes.index(after: index)
            default: break
            }
            index = bytes.index(after: index)
        }
        close(bytes.endIndex)
        return members
    }

    /// tchar (RFC 9110 section 5.6.2).
    static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                case 0x21, 0x23, 0x24, 0x25, 0x26, 0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
                default: false
                }
            }
    }

    /// As a quoted string (RFC 9110 section 5.6.4), quotes and backslashes escaped.
    ///
    /// By scalar: a quote with a combining mark behind it is a `Character` of its own, and a quote all the same.
    static func quoted(_ text: some StringProtocol) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        quoted.unicodeScalars.append("\"")
        return quoted
    }

    /// The content of a quoted string with its escapes resolved, or nil when the text is not exactly one.
    static func unquoted(_ text: Substring) -> String? {
        var bytes = text.utf8
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return nil }
        bytes = bytes.dropFirst().dropLast()
        var content: [UInt8] = []
        var isEscaped = false
        for byte in bytes {
            if !isEscaped && byte == UInt8(ascii: "\\") {
                isEscaped = true
                continue
            }
            if !isEscaped && byte == UInt8(ascii: "\"") { return nil }
            isEscaped = false
            content.append(byte)
        }
        return isEscaped ? nil : String(decoding: content, as: UTF8.self)
    }
}

extension HTTPFields {
    /// The values of all lines of that name, byte for byte.
    func lines(_ name: HTTPField.Name) -> [String] {
        self[fields: name].map(FieldText.text)
    }

    /// The value when there is exactly one line of that name.
    func onlyLine(_ name: HTTPField.Name) -> String? {
        let lines = lines(name)
        return lines.count == 1 ? lines[0] : nil
    }

    /// The members of a list field over all its lines.
    func members(_ name: HTTPField.Name) -> [Substring] {
        lines(name).flatMap { FieldText.members($0) }
    }

    /// Replaces the lines of that name by one with this text.
    mutating func setText(_ name: HTTPField.Name, _ text: String) {
        self[fields: name] = [FieldText.field(name, text)]
    }

    mutating func remove(_ name: HTTPField.Name) {
        self[fields: name] = []
    }
}
