@testable import ScopedNet

/// A shell reads a quoted word as the bytes that went in. The reader below knows no more of the shell's grammar than the words use.
@Sendable func fuzzShellWord(_ input: UnsafeRawBufferPointer) {
    let word = ShellWord(input).description
    check(readWord(Array(word.utf8)) == input.filter { $0 != 0 }, "\(word) is read as something else")
}

private func readWord(_ word: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var index = 0
    func starts(_ text: String) -> Bool { word[index...].starts(with: text.utf8) }
    while index < word.count {
        if starts("\"$(printf '") {
            index += 11
            while index < word.count, word[index] == UInt8(ascii: "\\") {
                guard index + 3 < word.count, let byte = UInt8(String(decoding: word[(index + 1)...(index + 3)], as: UTF8.self), radix: 8)
                else { return nil }
                bytes.append(byte)
                index += 4
            }
            guard starts("')\"") else { return nil }
            index += 3
        } else if word[index] == UInt8(ascii: "'") {
            guard let end = word[(index + 1)...].firstIndex(of: UInt8(ascii: "'")) else { return nil }
            bytes += word[(index + 1)..<end]
            index = end + 1
        } else if word[index] == UInt8(ascii: "\\") {
            guard index + 1 < word.count else { return nil }
            bytes.append(word[index + 1])
            index += 2
        } else {
            bytes.append(word[index])
            index += 1
        }
    }
    return bytes
}

/// Masking: any text is survived, masked twice is masked once, and the value of a member that is secret by name is gone.
@Sendable func fuzzSecretMask(_ input: UnsafeRawBufferPointer) {
    let mask = SecretMask()
    let text = input.text
    let masked = mask.maskedJSON(text)
    check(mask.maskedJSON(masked) == masked, "\(text) is masked as \(masked), and that again otherwise")
    let url = mask.maskedURL(text)
    check(mask.maskedURL(url) == url, "\(text) is masked as \(url), and that again otherwise")
    let address = mask.maskedURL("https://" + text + "user:hunter2@host/")
    if !text.utf8.contains(where: { "/?#\\".utf8.contains($0) }), !text.contains("hunter2") {
        check(!address.contains("hunter2"), "\(address) shows its password")
    }
    let value = String(decoding: input.filter { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }, as: UTF8.self)
    guard value.utf8.count > 3, !"{\"password\":\"***\",\"a\":1}".contains(value) else { return }
    check(!mask.maskedJSON("{\"password\":\"\(value)\",\"a\":1}").contains(value), "the password \(value) stays")
}
