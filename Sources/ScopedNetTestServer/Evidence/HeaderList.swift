#if TestServer
internal import NIOHTTP1

/// Header fields in the order they travel, duplicates kept.
///
/// ```swift
/// let headers: HeaderList = ["Set-Cookie": "a=1", "Set-Cookie": "b=2"]
/// ```
public struct HeaderList: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
    /// One header field, spelled as it was sent.
    public struct Field: Sendable, Hashable {
        /// The name, in the sender's spelling.
        public var name: String
        /// The value, without surrounding white space.
        public var value: String

        /// Makes a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field]

    /// Makes a list of these fields.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// Makes a list from names and values; a name may stand more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    init(_ headers: HTTPHeaders) {
        self.fields = headers.map { Field(name: $0.name, value: $0.value) }
    }

    /// The index of the first field.
    public var startIndex: Int { fields.startIndex }

    /// The index after the last field.
    public var endIndex: Int { fields.endIndex }

    /// The field at a position.
    public subscript(position: Int) -> Field { fields[position] }

    /// The first value of a name, in any spelling.
    public subscript(name: String) -> String? {
        fields.first { $0.name.equalsIgnoringCase(name) }?.value
    }

    /// All values of a name, in any spelling, in order.
    public subscript(all name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringCase(name) }.map(\.value)
    }

    /// Adds a field at the end.
    public mutating func append(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    var nioHeaders: HTTPHeaders {
        HTTPHeaders(fields.map { ($0.name, $0.value) })
    }
}

extension String {
    /// Compares ASCII letters without their case, as HTTP does with names (RFC 9110, section 5.1).
    func equalsIgnoringCase(_ other: String) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    fileprivate var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
#endif
