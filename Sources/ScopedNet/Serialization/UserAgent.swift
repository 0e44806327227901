import Glibc

/// A program, as the field `User-Agent` names it (RFC 9110 section 10.1.5): `feedreader/2.1 (Linux 6.1.0-18-amd64; x86_64)`. (pure)
public struct UserAgent: Sendable, Hashable {
    /// The value of the field, such as `feedreader/2.1 (Linux 6.1.0-18-amd64; x86_64)`.
    public let fieldValue: String

    /// Makes the field of a program; nil where nothing of the name is left.
    ///
    /// - Parameters:
    ///   - product: the program's name. What a product's name cannot hold (spaces, letters beyond ASCII) is left out.
    ///   - version: likewise; none where it is nil or nothing is left.
    ///   - system: the comment, ASCII without controls and parentheses; ``currentSystem`` by default, none where it is nil.
    public init?(product: String, version: String? = nil, system: String? = UserAgent.currentSystem) {
        let name = Self.token(product)
        guard !name.isEmpty else { return nil }
        let number = version.map { Self.token($0) } ?? ""
        let comment = String(
            String.UnicodeScalarView(
                (system ?? "").unicodeScalars.filter { (0x20..<0x7F).contains($0.value) && !"()\\".unicodeScalars.contains($0) }))
        fieldValue = name + (number.isEmpty ? "" : "/" + number) + (comment.isEmpty ? "" : " (\(comment))")
    }

    /// `Linux`, the kernel's release and the machine, by uname(2).
    public static var currentSystem: String {
        var name = utsname()
        guard uname(&name) == 0 else { return "Linux" }
        func text<Field>(_ field: Field) -> String {
            withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        }
        return "\(text(name.sysname)) \(text(name.release)); \(text(name.machine))"
    }

    private static func token(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.filter { scalar in
                    switch scalar {
                    case "a"..."z", "A"..."Z", "0"..."9": true
                    default: "!#$%&'*+-.^_`|~".unicodeScalars.contains(scalar)
                    }
                }))
    }
}
