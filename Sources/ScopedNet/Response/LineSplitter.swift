package import FoundationEssentials

/// Cuts bytes into lines that end with `\n` or `\r\n`. (pure)
package struct LineSplitter: Sendable {
    package enum Failure: Error { case tooLong }
    /// The next complete line, or what is left at the end of the bytes.
    package enum Step { case next, finish }

    private var bytes: [UInt8] = []
    /// The index of the first byte of the next line.
    private var start = 0
    /// The index up to which no line end was found.
    private var scanned = 0
    private let limit: Int

    /// - Parameter limit: the most bytes of a line, its end not counted.
    package init(limit: Int) { self.limit = max(0, limit) }

    package mutating func append(_ data: Data) {
        // Bytes of earlier lines go once for each piece, not for each line.
        bytes.removeFirst(start)
        scanned -= start
        start = 0
        bytes.append(contentsOf: data)
    }

    package mutating func take(_ step: Step) throws(Failure) -> String? {
        switch step {
        case .next: try next()
        case .finish: try finish()
        }
    }

    /// The next complete line without its end; nil when more bytes are needed for it.
    package mutating func next() throws(Failure) -> String? {
        guard let end = bytes[scanned...].firstIndex(of: 0x0A) else {
            scanned = bytes.count
            // A carriage return may be the first half of the line's end.
            let count = bytes.count - start - (bytes.count > start && bytes.last == 0x0D ? 1 : 0)
            if count > limit { throw .tooLong }
            return nil
        }
        let stop = end > start && bytes[end - 1] == 0x0D ? end - 1 : end
        if stop - start > limit { throw .tooLong }
        defer {
            start = end + 1
            scanned = start
        }
        return String(decoding: bytes[start..<stop], as: UTF8.self)
    }

    /// The last line, where the bytes do not end with the end of one. A carriage return at its end belongs to it.
    package mutating func finish() throws(Failure) -> String? {
        guard start < bytes.count else { return nil }
        if bytes.count - start > limit { throw .tooLong }
        defer {
            start = bytes.count
            scanned = start
        }
        return String(decoding: bytes[start...], as: UTF8.self)
    }
}
