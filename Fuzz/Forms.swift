import Foundation

@testable import ScopedNet

/// Multipart bodies, whole: what is written is read back by a parser that knows RFC 2046 and RFC 7578 alone and forgives nothing; what could not
/// be read back (content that holds the boundary) is told before.
@Sendable func fuzzForm(_ input: UnsafeRawBufferPointer) {
    var words = input.split(separator: 0, omittingEmptySubsequences: false).map { Array($0) }[...]
    guard let first = words.popFirst() else { return }
    let chosen = try? MultipartForm(boundary: String(decoding: first, as: UTF8.self))
    var form = chosen ?? MultipartForm()
    var expected: [FormPart] = []
    while words.count >= 3 {
        let (name, fileName, content) = (words.removeFirst(), words.removeFirst(), words.removeFirst())
        let (shownName, shownFile) = (String(decoding: name, as: UTF8.self), String(decoding: fileName, as: UTF8.self))
        if fileName.isEmpty {
            form.add(String(decoding: content, as: UTF8.self), name: shownName)
            expected.append(FormPart(name: shownName, fileName: nil, content: Array(String(decoding: content, as: UTF8.self).utf8)))
        } else {
            guard (try? form.add(Data(content), name: shownName, fileName: shownFile)) != nil else { fatalError("a part is refused") }
            expected.append(FormPart(name: shownName, fileName: shownFile, content: content))
        }
    }
    guard let body = form.inMemory(upTo: .max) else { fatalError("a body of bytes is not in memory") }
    check(Int64(body.count) == form.contentLength, "another length than was said")
    guard !expected.isEmpty else { return check(body.isEmpty, "a form without parts has a body") }
    guard let boundary = boundary(of: form.contentType) else { fatalError("no boundary in \(form.contentType)") }
    if form.holdsItsBoundary { return check(chosen != nil, "a boundary that nobody chose is in the content") }
    var parser = StrictFormParser(Array(body), boundary)
    guard let parts = parser.parts() else { fatalError("what was written is no multipart body") }
    check(parts.count == expected.count, "\(parts.count) parts of \(expected.count)")
    for (part, wanted) in zip(parts, expected) {
        check(part.content == wanted.content, "another content")
        check(unescaped(part.name) == unescaped(wanted.name), "the name \(wanted.name) is read as \(part.name)")
        check(part.fileName.map(unescaped) == wanted.fileName.map(unescaped), "another file name than \(wanted.fileName ?? "none")")
    }
}

private struct FormPart {
    var name: String
    var fileName: String?
    var content: [UInt8]
}

/// Without quotes, or in quotes that hold neither quote nor backslash.
private func boundary(of type: String) -> [UInt8]? {
    let start = "multipart/form-data; boundary="
    guard type.hasPrefix(start) else { return nil }
    let value = Array(type.utf8.dropFirst(start.utf8.count))
    guard value.first == UInt8(ascii: "\"") else { return value }
    return value.count > 2 && value.last == UInt8(ascii: "\"") ? Array(value.dropFirst().dropLast()) : nil
}

/// As a server reads a name that a browser wrote: what is no escape stays.
private func unescaped(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "%"), index + 2 < bytes.count,
            let high = Character(Unicode.Scalar(bytes[index + 1])).hexDigitValue,
            let low = Character(Unicode.Scalar(bytes[index + 2])).hexDigitValue
        {
            result.append(UInt8(high * 16 + low))
            index += 3
        } else {
            result.append(bytes[index])
            index += 1
        }
    }
    return result
}

/// RFC 2046 section 5.1.1 without preamble and epilogue, RFC 7578 section 4.
private struct StrictFormParser {
    private let body: [UInt8]
    private let delimiter: [UInt8]
    private var place = 0

    init(_ body: [UInt8], _ boundary: [UInt8]) {
        self.body = body
        delimiter = Array("--".utf8) + boundary
    }

    mutating func parts() -> [FormPart]? {
        var parts: [FormPart] = []
        guard take(delimiter), take(Array("\r\n".utf8)) else { return nil }
        while true {
            guard let part = part() else { return nil }
            parts.append(part)
            // What `content` stopped at.
            guard take(Array("\r\n".utf8) + delimiter) else { return nil }
            if take(Array("--\r\n".utf8)) { return place == body.count ? parts : nil }
            guard take(Array("\r\n".utf8)) else { return nil }
        }
    }

    private mutating func take(_ bytes: [UInt8]) -> Bool {
        guard body[place...].starts(with: bytes) else { return false }
        place += bytes.count
        return true
    }

    private mutating func part() -> FormPart? {
        var disposition: String?
        while let line = line(), !line.isEmpty {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), !line.contains(where: { $0 < 0x20 || $0 == 0x7F }) else { return nil }
            guard String(decoding: line[..<colon], as: UTF8.self).lowercased() == "content-disposition" else { continue }
            guard disposition == nil else { return nil }
            disposition = String(decoding: line[(colon + 1)...].drop { $0 == 0x20 }, as: UTF8.self)
        }
        guard let disposition, let part = Self.named(disposition) else { return nil }
        return FormPart(name: part.name, fileName: part.fileName, content: content())
    }

    private mutating func line() -> [UInt8]? {
        var end = place
        while end + 1 < body.count, !(body[end] == 0x0D && body[end + 1] == 0x0A) { end += 1 }
        guard end + 1 < body.count else { return nil }
        defer { place = end + 2 }
        return Array(body[place..<end])
    }

    private mutating func content() -> [UInt8] {
        let end = Array("\r\n".utf8) + delimiter
        let start = place
        while place < body.count, !body[place...].starts(with: end) { place += 1 }
        return Array(body[start..<place])
    }

    /// `form-data; name="…"`, and `; filename="…"` perhaps.
    private static func named(_ disposition: String) -> (name: String, fileName: String?)? {
        let bytes = Array(disposition.utf8)
        let texts = bytes.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        guard texts.first == "form-data; name=", texts.last == "" else { return nil }
        if texts.count == 3 { return (texts[1], nil) }
        return texts.count == 5 && texts[2] == "; filename=" ? (texts[1], texts[3]) : nil
    }
}
