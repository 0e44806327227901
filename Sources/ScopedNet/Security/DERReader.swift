/// Reads the elements of DER one after the other (X.690), as much of it as certificates use. (pure)
struct DERReader: Hashable, Sendable {
    /// One element.
    struct Element: Hashable, Sendable {
        let tag: UInt8
        let content: ArraySlice<UInt8>
        /// Tag, length and content, as they are.
        let whole: ArraySlice<UInt8>

        /// What a constructed element holds; nil for a primitive one.
        var inside: DERReader? { tag & 0x20 != 0 ? DERReader(content) : nil }
    }

    /// The universal tags that certificates have (X.680).
    enum Tag {
        static let integer: UInt8 = 0x02
        static let bitString: UInt8 = 0x03
        static let objectIdentifier: UInt8 = 0x06
        static let utf8String: UInt8 = 0x0C
        static let printableString: UInt8 = 0x13
        static let teletexString: UInt8 = 0x14
        static let ia5String: UInt8 = 0x16
        static let utcTime: UInt8 = 0x17
        static let generalizedTime: UInt8 = 0x18
        static let bmpString: UInt8 = 0x1E
        static let sequence: UInt8 = 0x30
        static let set: UInt8 = 0x31
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    var isAtEnd: Bool { rest.isEmpty }
    var nextTag: UInt8? { rest.first }

    /// - Returns: nil where no whole element follows. Nothing is read then.
    mutating func next() -> Element? {
        var body = rest
        // Tags above 30 take more bytes and occur in no certificate.
        guard let tag = body.popFirst(), tag & 0x1F != 0x1F, let first = body.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            // An indefinite length (0) is not DER; four bytes are 4 GiB.
            guard (1...4).contains(count), body.count >= count else { return nil }
            length = body.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            body = body.dropFirst(count)
        }
        guard length <= body.count else { return nil }
        let content = body.prefix(length)
        let element = Element(tag: tag, content: content, whole: rest[rest.startIndex..<content.endIndex])
        rest = rest[content.endIndex...]
        return element
    }

    /// The next element if it has this tag, else nil.
    mutating func next(_ tag: UInt8) -> Element? { nextTag == tag ? next() : nil }
}
