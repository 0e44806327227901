import CCurl
import Glibc
import HTTPTypes

@_spi(Transport) @testable import ScopedNet

/// Fields of requests, as somebody typed them (`header("Name", "value")`) and as they come from another field's bytes: what is taken is one line with
/// that name and that value, for libcurl too, and everything else is refused with a typed error.
@Sendable func fuzzRequestFields(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let parts = rest.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    let isNamed = choice & 1 == 0 && parts.count == 2
    let name = isNamed ? String(decoding: parts[0], as: UTF8.self) : "X-Fuzz"
    // Without a name of its own a value may hold NUL bytes.
    let bytes = isNamed ? Array(parts[1]) : Array(rest)
    checkTyped(name, String(decoding: bytes, as: UTF8.self))
    checkReceived(bytes)
}

private func isControl(_ byte: UInt8) -> Bool { byte < 0x20 && byte != 0x09 || byte == 0x7F }

private func checkTyped(_ name: String, _ value: String) {
    let field: HTTPField
    do throws(NetworkError) {
        field = try HeaderField.checked(name, value)
    } catch {
        check(error.code == .invalidHeader && !error.message.isEmpty, "\(error)")
        check(HTTPField.Name(name) == nil || value.utf8.contains(where: isControl), "'\(name)' is refused without a reason")
        // The value may be a secret. What is short may stand in the sentence by chance.
        check(value.utf8.count < 24 || HTTPField.Name(name) == nil || !error.message.contains(value), "the message shows the value")
        return
    }
    check(!value.utf8.contains(where: isControl), "a control character is taken")
    check(field.name.rawName.utf8.elementsEqual(name.utf8), "\(field.name) is not \(name)")
    let blanks: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    let trimmed = Array(value.utf8.drop(while: blanks).reversed().drop(while: blanks).reversed())
    check(Array(field.value.utf8.drop(while: blanks).reversed().drop(while: blanks).reversed()) == trimmed, "another value than was given")
    var fields = HTTPFields()
    fields.append(field)
    checkLines(fields)
}

/// A value that was received, or made with the lenient initializer, may hold anything.
private func checkReceived(_ bytes: [UInt8]) {
    var fields = HTTPFields()
    fields.append(HTTPField(name: .userAgent, lenientValue: bytes))
    fields.append(HTTPField(name: .accept, value: "*/*"))
    checkLines(fields)
}

/// One line for each field, which libcurl sends as it stands: `Name;` for an empty value, `Name: value` for any other.
private func checkLines(_ fields: HTTPFields) {
    let block: HeaderBlock
    do throws(NetworkError) { block = try HeaderBlock(fields, suppressing: ["Expect"]) } catch {
        check(error.code == .invalidHeader, "\(error)")
        check(fields.contains { $0.value.utf8.contains(where: isControl) }, "refused without a reason")
        return
    }
    var lines: [[UInt8]] = []
    var node = block.list
    while let entry = node {
        lines.append(Array(UnsafeRawBufferPointer(start: entry.pointee.data, count: strlen(entry.pointee.data))))
        node = entry.pointee.next
    }
    check(lines.count == fields.count + 1, "\(lines.count) lines for \(fields.count) fields")
    for (line, field) in zip(lines, fields) {
        check(!line.contains(where: isControl), "a line holds a control character")
        let name = Array(field.name.rawName.utf8)
        check(line.starts(with: name), "a line begins with another name than \(field.name)")
        let rest = Array(line.dropFirst(name.count))
        // Blanks alone behind the colon are libcurl's sign to leave the field out (CURLOPT_HTTPHEADER(3)).
        if rest == [UInt8(ascii: ";")] {
            check(field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }, "a value is sent as empty")
        } else {
            check(rest == Array(": ".utf8) + Array(field.value.utf8), "a line has another value than its field")
            check(rest.dropFirst().contains { $0 != 0x20 && $0 != 0x09 }, "libcurl would leave \(field.name) out")
        }
    }
    check(lines.last == Array("Expect:".utf8), "what is suppressed is not")
}
