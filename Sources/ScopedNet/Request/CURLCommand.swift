package import HTTPTypes

/// A request written as a `curl` command, to be pasted into a terminal.
///
/// Secrets are masked (see `SecretMask`), so the text is fit for logs and for bug reports; what was masked has to be filled in
/// before the command can be run. All words are quoted for a POSIX shell, whatever bytes they contain.
package struct CURLCommand: Sendable, CustomStringConvertible {
    /// The body of the request.
    package enum Body: Sendable, Hashable {
        case none
        case bytes([UInt8])
        /// The path of a file that is the body.
        case file(String)
        /// A body that cannot be shown, because it is made while it is sent.
        case stream
        /// A body that shall not be shown, with its description.
        case hidden(String)
    }

    /// Text bodies up to this size are part of the command: 16 KiB, well below what one argument of a program can have.
    private static let maxTextBytes = 16 << 10
    /// Other bodies up to this size are, too. Each byte takes four characters.
    private static let maxBinaryBytes = 1 << 10
    /// The file the reader has to provide when the body is not part of the command.
    private static let bodyFile = "body.bin"

    /// The command line.
    package let description: String

    package init(method: String, url: String, fields: HTTPFields, body: Body = .none, mask: SecretMask = SecretMask()) {
        let body = BodyArguments(body, contentType: fields[.contentType], mask: mask)
        var words = (["curl"] + Self.methodWords(method, hasBody: body.isPresent)).map { ShellWord($0) }
        words += Self.urlWords(mask.maskedURL(url)).map { ShellWord($0) }
        for field in fields { words += [ShellWord("--header"), Self.fieldWord(field, mask: mask)] }
        if fields.contains(.acceptEncoding) { words.append(ShellWord("--compressed")) }
        // curl would say that the body is a form.
        if body.isPresent && !fields.contains(.contentType) { words += [ShellWord("--header"), ShellWord("Content-Type:")] }
        words += body.words.map { ShellWord($0) }
        description = body.prefix + words.map(\.description).joined(separator: " ") + body.suffix
    }

    /// Makes the command of a request; with the URL as it was given where that is malformed.
    init(_ description: RequestDescription, _ template: RequestTemplate) {
        let body: Body =
            switch description.body?.content {
            case nil: .none
            case .data(let data): .bytes([UInt8](data))
            case .file(let path): .file(path)
            case .stream: .stream
            }
        self.init(
            method: description.method.rawValue, url: template.url.handle == nil ? description.url : template.url.string,
            fields: template.fields, body: body)
    }

    private static func methodWords(_ method: String, hasBody: Bool) -> [String] {
        switch (method, hasBody) {
        case ("GET", false), ("POST", true): []
        case ("HEAD", false): ["--head"]
        default: ["--request", method]
        }
    }

    private static func urlWords(_ url: String) -> [String] {
        // curl expands brackets and braces, drops fragments, and resolves dots unless told not to.
        let url = String(Substring(url.utf8.prefix { $0 != UInt8(ascii: "#") }))
        var words: [String] = []
        if url.utf8.contains(where: "[]{}".utf8.contains) { words.append("--globoff") }
        if url.contains("/.") { words.append("--path-as-is") }
        return words + ["--url", url]
    }

    private static func fieldWord(_ field: HTTPField, mask: SecretMask) -> ShellWord {
        let name = field.name.rawName
        let value = mask.maskedValue(field.value, ofField: name)
        // `Name:` would remove the field; a semicolon sends it empty.
        if value.isEmpty { return ShellWord("\(name);") }
        // A value that is not UTF-8 is a sequence of bytes and nothing else.
        if value == field.value { return field.withUnsafeBytesOfValue { ShellWord(Array("\(name): ".utf8) + $0) } }
        return ShellWord("\(name): \(value)")
    }

    /// How a body gets into the command.
    private struct BodyArguments {
        var isPresent = true
        /// In front of `curl`.
        var prefix = ""
        var words: [String] = []
        /// Behind everything.
        var suffix = ""

        init(_ body: Body, contentType: String?, mask: SecretMask) {
            switch body {
            case .none: isPresent = false
            case .bytes(let bytes): show(bytes, contentType: contentType, mask: mask)
            // `@-` would be the standard input.
            case .file(let path): words = ["--data-binary", path == "-" ? "@./-" : "@\(path)"]
            case .stream: omit("a stream")
            case .hidden(let text): omit(text)
            }
        }

        private mutating func show(_ bytes: [UInt8], contentType: String?, mask: SecretMask) {
            if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) {
                guard bytes.count <= maxTextBytes else { return omit("\(bytes.count) bytes") }
                // `--data` and `--data-binary` would take a text that begins with `@` for the name of a file.
                words = ["--data-raw", Self.masked(text, contentType: contentType, mask: mask)]
            } else {
                guard bytes.count <= maxBinaryBytes else { return omit("\(bytes.count) bytes") }
                prefix = "printf '\(ShellWord.octal(bytes))' | "
                words = ["--data-binary", "@-"]
            }
        }

        private mutating func omit(_ what: String) {
            words = ["--data-binary", "@\(bodyFile)"]
            suffix = " # \(bodyFile): the body, \(what), not shown"
        }

        private static func masked(_ text: String, contentType: String?, mask: SecretMask) -> String {
            let type = (contentType ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
            if type == "application/x-www-form-urlencoded" { return mask.maskedForm(text[...]) }
            if type == "application/json" || type.hasSuffix("+json") { return mask.maskedJSON(text) }
            return text
        }
    }
}
