/// JSON with line breaks and two spaces for each level (pure). Nothing else is touched: order, numbers and escapes stay as the server wrote them.
enum JSONLayout {
    /// Nil for what is not laid out as JSON: brackets that do not match, text without its end, values side by side. Documents one after
    /// the other (JSON lines) are laid out one after the other.
    static func indented(_ bytes: some Sequence<UInt8>) -> [UInt8]? {
        var layout = Layout()
        for byte in bytes { guard layout.take(byte) else { return nil } }
        return layout.finish()
    }

    private struct Layout {
        private var output: [UInt8] = []
        /// The bracket that ends each level.
        private var open: [UInt8] = []
        private var isInString = false
        private var isEscaped = false
        /// Behind an opening bracket: an empty one stays on its line.
        private var isFresh = false
        /// The latest byte that was no blank.
        private var last: UInt8?
        private var isBehindBlank = false
        private static let deepest = 1_000

        /// - Returns: false where it cannot be JSON.
        mutating func take(_ byte: UInt8) -> Bool {
            if isInString { return takeText(byte) }
            if [0x20, 0x09, 0x0a, 0x0d].contains(byte) {
                isBehindBlank = true
                return true
            }
            guard separate(byte) else { return false }
            isBehindBlank = false
            last = byte
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["): return begin(byte)
            case UInt8(ascii: "}"), UInt8(ascii: "]"): return end(byte)
            case UInt8(ascii: ","):
                output.append(byte)
                breakLine()
            case UInt8(ascii: ":"): output += [byte, 0x20]
            default:
                breakIfFresh()
                isInString = byte == UInt8(ascii: "\"")
                output.append(byte)
            }
            return true
        }

        private mutating func takeText(_ byte: UInt8) -> Bool {
            output.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
            }
            return true
        }

        /// Between two values only a blank tells that they are two: a document ends there, or it is none.
        private mutating func separate(_ byte: UInt8) -> Bool {
            guard isBehindBlank, let last, !"{[,:".utf8.contains(last), !",:]}".utf8.contains(byte) else { return true }
            guard open.isEmpty else { return false }
            output.append(0x0a)
            return true
        }

        private mutating func begin(_ byte: UInt8) -> Bool {
            breakIfFresh()
            output.append(byte)
            // Both brackets are two apart in ASCII.
            open.append(byte + 2)
            isFresh = true
            return open.count <= Self.deepest
        }

        private mutating func end(_ byte: UInt8) -> Bool {
            guard open.popLast() == byte else { return false }
            if isFresh { isFresh = false } else { breakLine() }
            output.append(byte)
            return true
        }

        private mutating func breakIfFresh() {
            if isFresh { breakLine() }
            isFresh = false
        }

        private mutating func breakLine() {
            output.append(0x0a)
            output += [UInt8](repeating: 0x20, count: open.count * 2)
        }

        func finish() -> [UInt8]? { isInString || !open.isEmpty || output.isEmpty ? nil : output + [0x0a] }
    }
}
