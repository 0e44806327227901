@testable import ScopedNet

/// A netrc file of any content: refused with a line it has, or entries that an answer can be found in.
@Sendable func fuzzNetrc(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    let lines = text.utf8.count { $0 == UInt8(ascii: "\n") } + 1
    let netrc: Netrc
    do throws(NetworkError) { netrc = try Netrc(text) } catch {
        check(error.code == .invalidOption, "\(error)")
        let line = error.message.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        check(line.map { (1...lines).contains($0) } ?? false, "\(error) names no line of \(lines)")
        return
    }
    let words = text.utf8.split { $0 == 0x20 || (0x09...0x0D).contains($0) || $0 == UInt8(ascii: "\"") }.count
    check(netrc.entries.count <= words, "\(netrc.entries.count) entries of \(words) words")
    for entry in netrc.entries {
        let host = entry.machine ?? "any.test"
        let credential = netrc.credential(for: host, usesDefault: true)
        check(credential != nil || netrc.entries.allSatisfy { $0.machine != entry.machine || $0.password == nil }, "\(host) has no answer")
    }
}
