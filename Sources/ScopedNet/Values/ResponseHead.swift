public import HTTPTypes

/// The status line and fields of a response, kept as the bytes that came and parsed when asked for.
public struct ResponseHead: Sendable {
    /// The reason phrase, and right behind it the fields.
    private let bytes: [UInt8]
    private let fieldsStart: Int
    private let wireVersion: ResponseHeadParser.Version
    private let hasContentEncoding: Bool
    /// 100 to 999.
    public let status: Int

    init(bytes: [UInt8], fieldsStart: Int, version: ResponseHeadParser.Version, hasContentEncoding: Bool, status: Int) {
        self.bytes = bytes
        self.fieldsStart = fieldsStart
        wireVersion = version
        self.hasContentEncoding = hasContentEncoding
        self.status = status
    }

    package init(_ parser: ResponseHeadParser) {
        var parser = parser
        self = parser.makeHead()
    }

    func withFields<Result>(_ body: (FieldLines) -> Result) -> Result {
        bytes.withUnsafeBytes { body(FieldLines(bytes: UnsafeRawBufferPointer(rebasing: $0[fieldsStart...]))) }
    }

    /// Makes a head for mocks: `HTTP/1.1 200` and these fields.
    public init(status: Int, headers: HTTPFields = [:]) {
        var parser = ResponseHeadParser()
        var text = "HTTP/1.1 \(min(999, max(100, status))) \r\n"
        for field in headers { text += "\(field.name.rawName): \(field.value)\r\n" }
        // The bytes are well formed by construction: HTTPFields holds no line ends.
        _ = try? parser.receive(Array((text + "\r\n").utf8))
        self.init(parser)
    }

    /// "1.0", "1.1", "2" or "3".
    public var version: String {
        switch wireVersion {
        case .http1_0: "1.0"
        case .http1_1: "1.1"
        case .http2: "2"
        case .http3: "3"
        }
    }

    /// What the server wrote after the status; empty on HTTP/2.
    public var reasonPhrase: String { ResponseHeadParser.text(bytes[..<fieldsStart]) }

    /// True for 200 to 299.
    public var isSuccess: Bool { (200..<300).contains(status) }

    /// Every field, parsed anew at each call: keep the result when you need several.
    public var headers: HTTPFields { withFields { $0.fields() } }

    /// One field by name, any case; several lines of it are joined by ", ". Looks at the bytes, parses nothing else.
    public subscript(_ name: String) -> String? {
        let hasCapitals = name.utf8.contains { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        let known = hasCapitals ? name.lowercased() : name
        return withFields { $0.value(of: known) }
    }

    /// The declared length of the body; nil when there is none or it is not a number.
    public var contentLength: Int64? { withFields { (try? $0.contentLength()) ?? nil } }

    /// What the body is; nil when the server does not say, or nothing that can be read.
    public var contentType: MediaType? { self["content-type"].flatMap { MediaType($0) } }

    /// The media type without parameters, in lower case: `text/html`.
    public var mimeType: String? { contentType?.essence }

    /// Well-formed or nil; for `Content-Encoding` that is not `identity`.
    package var contentEncoding: String? {
        hasContentEncoding ? self["content-encoding"] : nil
    }
}

extension ResponseHead: CustomStringConvertible {
    /// The status line without the fields, such as `HTTP/1.1 404 Not Found`.
    public var description: String { "HTTP/\(version) \(status)\(reasonPhrase.isEmpty ? "" : " " + reasonPhrase)" }
}

extension ResponseHead {
    /// The content coding to undo; nil for none.
    ///
    /// A range is one of the coded bytes (RFC 9110 section 14.2), and without those before it nothing can be decoded: the bytes of a 206 stay as
    /// they came, unless they are all there are.
    package var appliedCoding: String? {
        guard let coding = contentEncoding else { return nil }
        return status == 206 && !isWholeRange ? nil : coding
    }

    /// True for the same status and fields, as they came.
    func isSame(as other: ResponseHead) -> Bool { status == other.status && fieldsStart == other.fieldsStart && bytes == other.bytes }

    /// The head of a body whose coding was undone.
    var withoutCoding: ResponseHead {
        guard hasContentEncoding else { return self }
        var fields = headers
        fields[.contentEncoding] = nil
        fields[.contentLength] = nil
        return ResponseHead(status: status, headers: fields)
    }

    private var isWholeRange: Bool {
        guard let field = self["content-range"], let content = ContentRange(field), let range = content.range else { return false }
        return range.start == 0 && range.end == content.completeLength
    }
}
