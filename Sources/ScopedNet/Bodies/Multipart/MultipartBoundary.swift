package import FoundationEssentials

/// What separates the parts of a multipart body (RFC 2046 section 5.1.1). (pure)
package struct MultipartBoundary: Sendable, Hashable {
    package let text: String
    /// Chosen by the caller rather than by chance: then it may be in the content, and is looked for.
    package let isChosen: Bool

    /// `Boundary+` and sixteen digits, 64 bits that nobody can guess.
    package static func random() -> MultipartBoundary {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16, uppercase: true)
        return MultipartBoundary(text: "Boundary+" + String(repeating: "0", count: 16 - digits.count) + digits, isChosen: false)
    }

    package init(_ text: String) throws(NetworkError) {
        let isGood =
            (1...70).contains(text.utf8.count) && text.utf8.allSatisfy { Self.isAllowed($0) } && text.utf8.last != UInt8(ascii: " ")
        guard isGood else {
            throw NetworkError(.invalidOption, phase: .preparing, message: "this is no multipart boundary (RFC 2046 section 5.1.1)")
        }
        self.init(text: text, isChosen: true)
    }

    private init(text: String, isChosen: Bool) {
        self.text = text
        self.isChosen = isChosen
    }

    /// The value of `Content-Type`. Quoted only where the boundary is no token: some servers do not undo it.
    package var contentType: String {
        let isToken = text.utf8.allSatisfy { !"()<>@,;:\\\"/[]?={} ".utf8.contains($0) }
        return "multipart/form-data; boundary=" + (isToken ? text : "\"\(text)\"")
    }

    /// Stands before the first part.
    package var opening: String { "--\(text)\r\n" }
    /// Stands between two parts.
    package var separator: String { "\r\n--\(text)\r\n" }
    /// Stands behind the last part.
    package var closing: String { "\r\n--\(text)--\r\n" }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "'()+_,-./:=? ".utf8.contains(byte)
        }
    }
}

/// Looks for a boundary in content that comes in pieces. (pure)
package struct BoundarySearch {
    private let needle: [UInt8]
    /// The end of what came before, one byte shorter than what is looked for.
    private var tail: [UInt8] = []

    /// A delimiter begins a line (RFC 2046 section 5.1.1); content begins one, too.
    package init(_ boundary: MultipartBoundary) { needle = Array("--\(boundary.text)".utf8) }

    /// - Returns: whether the content as far as it came holds the boundary.
    package mutating func finds(in piece: Data) -> Bool {
        let joint = tail + piece.prefix(needle.count - 1)
        let isFound = contains(joint) || contains(piece)
        tail = Array((piece.count >= needle.count - 1 ? Array(piece.suffix(needle.count - 1)) : tail + piece).suffix(needle.count - 1))
        return isFound
    }

    private func contains(_ bytes: some ContiguousBytes) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while rest.count >= needle.count, let start = rest.firstIndex(of: needle[0]) {
                rest = rest[start...]
                if rest.starts(with: needle) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
