import FoundationEssentials

/// The message of a `decodingFailed` error: the place in the document, the kind that was expected
/// there and the kind that was found, never a value (pure).
enum DecodingFailure {
    private static let unknown = "the body is not what was expected"
    /// A document of somebody else's may have names of any length.
    private static let longest = 400

    // Without the body nothing is said of one that Foundation cannot read as a whole.
    static func message(for error: any Error, body: Data? = nil) -> String {
        guard let detail = detail(of: error, body) else { return unknown }
        return String(detail.unicodeScalars.prefix(longest))
    }

    private static func detail(of error: any Error, _ body: Data?) -> String? {
        switch error {
        case let error as JSONShape.ShapeError: error.mismatches.isEmpty ? nil : error.description
        case let error as NetworkError.EmptyBody: error.description
        case let error as NetworkError.CompoundDecoding: detail(of: error, body)
        case let error as DecodingError: detail(of: error, body)
        case let error as NetworkError: "\(unknown): \(error.code)"
        // Its words may quote the body, its name does not.
        default: "\(unknown): the decoder threw \(type(of: error))"
        }
    }

    private static func detail(of error: NetworkError.CompoundDecoding, _ body: Data?) -> String? {
        guard !error.errors.isEmpty else { return nil }
        let details = error.errors.map { detail(of: $0, body) ?? unknown }
        return details.enumerated().map { "decoder \($0.offset + 1): \($0.element)" }.joined(separator: "; ")
    }

    // The debug descriptions of Foundation may quote values, so none of them is passed on.
    private static func detail(of error: DecodingError, _ body: Data?) -> String? {
        switch error {
        case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
        case .valueNotFound(let type, let context): "\(path(context.codingPath)) should be \(name(of: type)), and is null"
        case .typeMismatch(let type, let context): "\(path(context.codingPath)) should be \(name(of: type)), and is \(kind(in: context))"
        case .dataCorrupted(let context):
            (context.codingPath.isEmpty ? document(in: context, body) : nil)
                ?? "\(path(context.codingPath)) cannot be read as the value that is expected there"
        @unknown default: nil
        }
    }

    /// A defect of the document as a whole. Foundation names no place then, and its description is known.
    private static func document(in context: DecodingError.Context, _ body: Data?) -> String? {
        if context.debugDescription.contains("not a valid property list") { return "the body is not a valid property list" }
        guard context.debugDescription.contains("not valid JSON") else { return nil }
        guard let body else { return unknown }
        if let defect = JSONDefect.find(in: body) { return defect.text }
        // The same is said where the number alone is wrong, as 3.5 is for an Int.
        let isRead = JSONDefect.isUTF8(body) || (try? JSONDecoder().decode(JSONValue.self, from: body)) != nil
        return isRead ? "a number does not fit into its type" : "the body is not valid JSON"
    }

    /// Foundation's names for the containers of a document are those of its own types.
    private static func name(of type: any Any.Type) -> String {
        if type == [Any].self { return "an array" }
        return type == [String: Any].self ? "an object" : "of type \(type)"
    }

    /// The kind of value that was found, where Foundation's description names one of these, some with an article and some without.
    private static func kind(in context: DecodingError.Context) -> String {
        let kinds = [
            ("string", "a string"), ("number", "a number"), ("array", "an array"), ("dictionary", "an object"), ("bool", "a boolean"),
            ("null", "null"),
        ]
        return kinds.first { context.debugDescription.contains("\($0.0) instead") }?.1 ?? "something else"
    }

    /// Members and indices from the top, which is `$`, as ``JSONShape/Mismatch/path`` has them.
    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "$") { path, key in path += key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    }
}
