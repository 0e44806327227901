extension Unicode.Scalar {
    /// False for control characters, line separators and marks that turn the direction of reading around.
    package var isPrintable: Bool {
        switch value {
        case ..<0x20, 0x7F...0x9F, 0x2028, 0x2029: false
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: false
        default: true
        }
    }
}

extension String {
    /// The same on one line and without control characters, which become `\\x1B`: texts of servers and of users end up in logs and on
    /// terminals, where a line end forges an entry and an escape sequence does worse.
    package var printable: String {
        guard !unicodeScalars.allSatisfy(\.isPrintable) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isPrintable {
                text.unicodeScalars.append(scalar)
            } else {
                text += "\\x" + String(scalar.value, radix: 16, uppercase: true)
            }
        }
        return text
    }
}
