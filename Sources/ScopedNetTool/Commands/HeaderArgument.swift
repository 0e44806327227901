import HTTPTypes
import ScopedNet

/// `Name: value`, as of `-H` (pure). An empty value is sent as such.
struct HeaderArgument: Sendable, Hashable {
    let field: HTTPField

    /// - Throws: ``NetworkError`` with the code `invalidHeader` for what is no field of HTTP.
    init(_ text: String) throws(NetworkError) {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else {
            throw NetworkError(.invalidHeader, phase: .preparing, message: "'\(text.prefix(80))' has no colon")
        }
        let value = text[text.utf8.index(after: colon)...]
        let trimmed = value.drop { $0 == " " || $0 == "\t" }
        // The library's own check, so that the command line and a program hear the same.
        field = try HeaderField.checked(String(text[..<colon]), String(trimmed))
    }
}
