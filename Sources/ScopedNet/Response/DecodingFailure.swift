/// The message of a `decodingFailed` error: the place in the document, the kind that was expected
/// there and the kind that was found, never a value (pure).
enum DecodingFailure {
    private static let unknown = "the body is not what was expected"
    /// A document of somebody else's may have names of any length.
    private static let longest = 400

    static func message(for error: any Error) -> String {
        guard let detail = detail(of: error) else { return unknown }
        return String(detail.unicodeScalars.prefix(longest))
    }

    private static func detail(of error: any Error) -> String? {
        switch error {
        case let error as JSONShape.ShapeError: error.mismatches.isEmpty ? nil : error.description
        case let error as NetworkError.EmptyBody: error.description
        case let error as DecodingError: detail(of: error)
        default: nil
        }
    }

    // The debug descriptions of Foundation may quote values, so none of them is passed on.
    private static func detail(of error: DecodingError) -> String? {
        switch error {
        case .keyNotFound(let key, let context): "\(path(context.codingPath + [key])) is missing"
        case .valueNotFound(let type, let context): "\(path(context.codingPath)) should be of type \(type), and is null"
        case .typeMismatch(let type, let context): "\(path(context.codingPath)) should be of type \(type), and is \(kind(in: context))"
        case .dataCorrupted(let context):
            context.codingPath.isEmpty ? nil : "\(path(context.codingPath)) cannot be read as the value that is expected there"
        @unknown default: nil
        }
    }

    /// The kind of value that was found, where Foundation's description names one of these.
    private static func kind(in context: DecodingError.Context) -> String {
        let kinds = ["a string", "a number", "an array", "a dictionary", "a bool", "bool", "null"]
        guard let found = kinds.first(where: { context.debugDescription.contains("found \($0) instead") }) else { return "something else" }
        switch found {
        case "a dictionary": return "an object"
        case "bool", "a bool": return "a boolean"
        default: return found
        }
    }

    /// Members and indices from the top, which is `$`, as ``JSONShape/Mismatch/path`` has them.
    private static func path(_ keys: [any CodingKey]) -> String {
        keys.reduce(into: "$") { path, key in path += key.intValue.map { "[\($0)]" } ?? ".\(key.stringValue)" }
    }
}
