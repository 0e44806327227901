/// A name of X.500 for people to read, in the form of RFC 4514: the last part first. (pure)
enum DistinguishedNameText {
    static func text(of name: DERReader.Element) -> String {
        var parts: [String] = []
        var sets = DERReader(name.content)
        while let set = sets.next() {
            var attributes = DERReader(set.content)
            var values: [String] = []
            while let attribute = attributes.next() { values.append(text(ofAttribute: attribute)) }
            parts.append(values.joined(separator: "+"))
        }
        return parts.reversed().joined(separator: ",")
    }

    private static func text(ofAttribute attribute: DERReader.Element) -> String {
        var reader = DERReader(attribute.content)
        guard let type = reader.next(DERReader.Tag.objectIdentifier), let value = reader.next() else { return "?" }
        return "\(name(of: type.content))=\(escaped(string(value)))"
    }

    private static func name(of identifier: ArraySlice<UInt8>) -> String {
        switch Array(identifier) {
        case [0x55, 4, 3]: "CN"
        case [0x55, 4, 5]: "serialNumber"
        case [0x55, 4, 6]: "C"
        case [0x55, 4, 7]: "L"
        case [0x55, 4, 8]: "ST"
        case [0x55, 4, 9]: "STREET"
        case [0x55, 4, 10]: "O"
        case [0x55, 4, 11]: "OU"
        case [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 9, 1]: "emailAddress"
        case [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 1]: "UID"
        case [0x09, 0x92, 0x26, 0x89, 0x93, 0xF2, 0x2C, 0x64, 1, 25]: "DC"
        default: dotted(identifier)
        }
    }

    /// `2.5.4.42` (X.690 section 8.19).
    private static func dotted(_ identifier: ArraySlice<UInt8>) -> String {
        var numbers: [UInt64] = []
        var number: UInt64 = 0
        for byte in identifier {
            guard number < 1 << 56 else { return "?" }
            number = number << 7 | UInt64(byte & 0x7F)
            if byte & 0x80 == 0 {
                if numbers.isEmpty {
                    numbers = [min(number / 40, 2), number - 40 * min(number / 40, 2)]
                } else {
                    numbers.append(number)
                }
                number = 0
            }
        }
        return numbers.map { "\($0)" }.joined(separator: ".")
    }

    private static func string(_ value: DERReader.Element) -> String {
        switch value.tag {
        case DERReader.Tag.utf8String, DERReader.Tag.printableString, DERReader.Tag.ia5String:
            return String(decoding: value.content, as: UTF8.self)
        case DERReader.Tag.teletexString:
            // T.61 in name only: what is written there is ISO 8859-1.
            return String(String.UnicodeScalarView(value.content.map { Unicode.Scalar($0) }))
        case DERReader.Tag.bmpString:
            let bytes = Array(value.content)
            let units = stride(from: 0, to: bytes.count - bytes.count % 2, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
            return String(decoding: units, as: UTF16.self)
        default:
            return "#" + value.whole.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
    }

    /// With what separates parts quoted (RFC 4514 section 2.4), on one line and without control characters.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.printable.unicodeScalars {
            if ",+\"\\<>;".unicodeScalars.contains(scalar) { result += "\\" }
            result.unicodeScalars.append(scalar)
        }
        return result
    }
}
