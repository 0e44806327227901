// Pure: no clock, lock, thread or I/O.

/// The name of a downloaded file in its folder: what the server calls it, else the end of the URL, made safe either way.
///
/// A server's word may not choose more than a name: no folder, nothing hidden, nothing that shows one name and is another.
package enum DownloadName {
    /// The most that Linux takes (NAME_MAX).
    static let maxBytes = 255

    /// Chooses the name of a file.
    ///
    /// - Parameters:
    ///   - contentDisposition: the field of the response (RFC 6266); `filename*` goes before `filename`.
    ///   - url: absolute.
    /// - Returns: one segment of a path; `download` where neither names a file.
    package static func name(contentDisposition: String?, url: String) -> String {
        for candidate in [disposition(contentDisposition), disposition(contentDisposition, isExtended: false), lastSegment(of: url)] {
            if let candidate, let name = safe(candidate) { return name }
        }
        return "download"
    }

    // MARK: Where names come from

    /// The field is written as `Content-Type` is: a token, and parameters behind it.
    private static func disposition(_ field: String?, isExtended: Bool = true) -> String? {
        guard let parameters = field.flatMap({ MediaType("disposition/" + $0.drop { $0 == " " }) })?.parameters else { return nil }
        return isExtended ? parameters["filename*"].flatMap(extended) : parameters["filename"]
    }

    /// `UTF-8'en'%e2%82%ac%20rates` (RFC 8187 section 3.2). Receivers need to know two encodings, and know two.
    private static func extended(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        switch parts[0].lowercased() {
        case "utf-8": return PercentEncoding.unescaped(String(parts[2]))
        case "iso-8859-1": return latin1(parts[2])
        default: return nil
        }
    }

    private static func latin1(_ text: Substring) -> String? {
        var scalars = String.UnicodeScalarView()
        var rest = text.utf8
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                scalars.append(Unicode.Scalar(byte))
                continue
            }
            guard rest.count >= 2, let code = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
            rest = rest.dropFirst(2)
            scalars.append(Unicode.Scalar(code))
        }
        return String(scalars)
    }

    private static func lastSegment(of url: String) -> String? {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        guard let start = path.firstRange(of: "://")?.upperBound, let slash = path[start...].lastIndex(of: "/") else { return nil }
        let segment = String(path[path.index(after: slash)...])
        return PercentEncoding.unescaped(segment) ?? segment
    }

    /// The next name to be tried where one is taken: `report (1).pdf`. The end of a name that says what the file is stays at its end.
    ///
    /// `path` has its folder in it, which may have dots of its own.
    static func numbered(_ path: String, _ number: Int) -> String {
        let bytes = path.utf8
        let start = bytes.lastIndex(of: UInt8(ascii: "/")).map(bytes.index(after:)) ?? bytes.startIndex
        let name = String(path[start...])
        let ending = ending(of: name)
        let mark = " (\(number))"
        var stem = name.unicodeScalars.dropLast(ending.unicodeScalars.count)
        while stem.reduce(0, { $0 + UTF8.width($1) }) + mark.utf8.count + ending.utf8.count > maxBytes, !stem.isEmpty { stem.removeLast() }
        return path[..<start] + String(String.UnicodeScalarView(stem)) + mark + ending
    }

    /// From the last dot on, if that is no long text; with what is before a coding, as in `.tar.gz`.
    private static func ending(of name: String) -> String {
        let scalars = name.unicodeScalars
        guard let dot = scalars.lastIndex(of: "."), dot > scalars.startIndex, name[dot...].utf8.count <= 32 else { return "" }
        let stem = scalars[..<dot]
        if let inner = stem.lastIndex(of: "."), inner > scalars.startIndex, String(stem[inner...]) == ".tar" {
            return String(name[inner...])
        }
        return String(name[dot...])
    }

    // MARK: What is safe

    /// Nil where nothing is left.
    private static func safe(_ text: String) -> String? {
        // Of a path, ours or that of another system, the last part.
        let last = text.unicodeScalars.split { $0 == "/" || $0 == "\\" }.last ?? []
        var scalars = last.filter { !isUnseen($0) }[...]
        // Nothing hidden, not `.` and not `..`; no blanks that a listing does not show.
        scalars = scalars.drop { $0 == "." || $0 == " " }
        while let end = scalars.last, end == "." || end == " " { scalars.removeLast() }
        let name = String(String.UnicodeScalarView(scalars))
        // Nor what this library takes for the part of another download.
        let short = shortened(name)
        let plain = short.unicodeScalars.replacing(".scopednet-".unicodeScalars, with: "_scopednet-".unicodeScalars)
        return name.isEmpty ? nil : String(plain)
    }

    /// Controls, and the marks that turn the direction of writing around: `cod.exe` would look like `exe.doc`.
    private static func isUnseen(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case ..<0x20, 0x7F...0x9F, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x2069, 0xFEFF: true
        default: false
        }
    }

    /// The end of the name says what the file is, and stays.
    private static func shortened(_ name: String) -> String {
        guard name.utf8.count > maxBytes else { return name }
        let scalars = name.unicodeScalars
        let dot = scalars.lastIndex(of: ".") ?? scalars.endIndex
        let ending = name[dot...].utf8.count <= 32 ? String(name[dot...]) : ""
        var stem = String.UnicodeScalarView()
        var room = maxBytes - ending.utf8.count
        for scalar in scalars {
            room -= UTF8.width(scalar)
            guard room >= 0 else { break }
            stem.append(scalar)
        }
        return String(stem) + ending
    }
}
