extension NetworkError {
    /// A server's own words about a request that it did not accept: the body of an unacceptable response as a JSON document.
    ///
    /// ```swift
    /// struct Refusal: NetworkError.Document {
    ///     let reason: String
    ///     var message: String? { reason }
    /// }
    /// configuration.errorDocument = Refusal.self
    /// ```
    public protocol Document: Decodable, Sendable {
        /// The media types of such documents, in lower case. Default: empty, for any body that can be decoded.
        static var mediaTypes: Set<String> { get }
        /// The words for a person; nil where the document has none.
        var message: String? { get }
    }

    /// A problem document, `application/problem+json` (RFC 9457). What it leaves out is nil.
    public struct ProblemDetails: Document, Hashable {
        /// `application/problem+json` alone.
        public static let mediaTypes: Set<String> = ["application/problem+json"]

        /// A URI reference that identifies the kind of problem; `about:blank` where nothing is said.
        public let type: String
        /// A short summary of the kind of problem.
        public let title: String?
        /// The status of the response, as the server that made the document saw it.
        public let status: Int?
        /// The explanation of this occurrence.
        public let detail: String?
        /// A URI reference that identifies this occurrence.
        public let instance: String?
        /// All other members.
        public let extensions: [String: JSONValue]

        /// The explanation, else the summary.
        public var message: String? { detail ?? title }

        /// Members of another type than RFC 9457 gives them are ignored, as it demands (section 3.1).
        public init(from decoder: any Decoder) throws {
            var members = try [String: JSONValue](from: decoder)
            func text(_ name: String) -> String? {
                if case .string(let text)? = members[name] { return text }
                return nil
            }
            type = text("type") ?? "about:blank"
            title = text("title")
            detail = text("detail")
            instance = text("instance")
            if case .integer(let number)? = members["status"] { status = Int(exactly: number) } else { status = nil }
            for name in ["type", "title", "status", "detail", "instance"] { members[name] = nil }
            extensions = members
        }
    }

    /// The server's error document, of the type that the session expects (``Session/Configuration/errorDocument``); nil where the
    /// response had no such body. Decoded at each call.
    public var document: (any Document)? { errorBody.document(mimeType: response?.mimeType) }

    /// The problem document that came with the response (RFC 9457), whatever the session expects.
    public var problem: ProblemDetails? { errorBody.problem(mimeType: response?.mimeType) }

    /// The words of the server's error document for a person, on one line of at most 500 characters.
    public var serverMessage: String? { errorBody.message(mimeType: response?.mimeType) }
}

extension NetworkError.Document {
    /// Any media type.
    public static var mediaTypes: Set<String> { [] }
}
