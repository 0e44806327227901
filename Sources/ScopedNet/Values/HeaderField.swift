package import HTTPTypes

/// A header field made of strings that somebody typed or received: checked, never repaired.
///
/// `HTTPField` turns line ends in a value into spaces, which hides the mistake of whoever put them there, and has no answer but nil for
/// a name that is none.
package enum HeaderField {
    /// - Throws: ``NetworkError`` with code `invalidHeader`; the message names the field and never shows its value.
    package static func checked(_ name: String, _ value: String) throws(NetworkError) -> HTTPField {
        try checked(HTTPField.Name(name), name, value)
    }

    /// The same for a name that was looked at: `parsed` is nil where it is none.
    static func checked(_ parsed: HTTPField.Name?, _ name: String, _ value: String) throws(NetworkError) -> HTTPField {
        guard let parsed else {
            throw NetworkError(
                .invalidHeader, phase: .preparing, message: "'\(name.prefix(80))' is no name of a header field (RFC 9110 section 5.1)")
        }
        for byte in value.utf8 {
            guard let problem = problem(byte) else { continue }
            throw NetworkError(.invalidHeader, phase: .preparing, message: "the value of '\(name)' holds \(problem) (RFC 9110 section 5.5)")
        }
        return HTTPField(name: parsed, value: value)
    }

    private static func problem(_ byte: UInt8) -> String? {
        switch byte {
        case 0x0D: "a carriage return"
        case 0x0A: "a line feed"
        case 0x00: "a NUL byte"
        case 0x09: nil
        case ..<0x20, 0x7F: "a control character"
        default: nil
        }
    }
}
