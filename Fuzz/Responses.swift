@testable import ScopedNet

/// `Content-Type` of any form: what is read can be written, and reads as the same.
@Sendable func fuzzMediaType(_ input: UnsafeRawBufferPointer) {
    let parts = input.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    let pattern = MediaTypePattern(parts.last ?? "")
    guard let type = MediaType(parts[0]) else { return }
    check(MediaType(type.description) == type, "\(type) reads otherwise than \(parts[0])")
    check(MediaTypePattern("*/*").matches(type) && MediaTypePattern(type.essence).matches(type), "\(type) is not what it is")
    _ = pattern.matches(type)
}

/// Bytes and the name of an encoding: text comes of all of them, not much longer than they are, and UTF-8 is left alone.
@Sendable func fuzzCharset(_ input: UnsafeRawBufferPointer) {
    let parts = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return }
    let name = String(decoding: parts[0], as: UTF8.self)
    let bytes = [UInt8](parts[1])
    let text = Charset.text(bytes, named: name)
    check(text.utf8.count <= bytes.count * 12 + 12, "\(bytes.count) bytes of \(name) became \(text.utf8.count)")
    check(Charset.text(bytes, named: nil) == Charset.text(bytes, named: "utf-8"), "without a name it is not UTF-8")
}
