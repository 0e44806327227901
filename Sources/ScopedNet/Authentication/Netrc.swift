/// The file in which people keep names and passwords by machine: netrc(5), with the quotes of curl(1). (pure)
package struct Netrc: Sendable, Hashable {
    package struct Entry: Sendable, Hashable {
        /// In lower case; nil for `default`, which is for every machine.
        package var machine: String?
        package var login: String?
        package var password: String?
        package var account: String?
    }

    package private(set) var entries: [Entry] = []

    /// Tokens are parted by blanks and line ends; one in double quotes may hold blanks, and `\"`, `\\`, `\n`, `\r` and `\t`. A `#` where a token
    /// would begin on a line of its own makes the rest of the line a comment. `macdef` is passed over to the next empty line.
    ///
    /// - Throws: `invalidOption` for an unfinished quotation, a name without a value, and a word nobody knows; the message names the line and
    ///   shows nothing of it.
    package init(_ text: String) throws(NetworkError) {
        var reader = Reader(text)
        while let word = try reader.word() {
            switch word {
            case "machine": entries.append(Entry(machine: try reader.value().lowercased()))
            case "default": entries.append(Entry())
            case "login": try set(\.login, &reader)
            case "password": try set(\.password, &reader)
            case "account": try set(\.account, &reader)
            case "macdef": reader.skipMacro()
            default: throw reader.error("holds a word that is none of machine, default, login, password, account, macdef")
            }
        }
    }

    private mutating func set(_ part: WritableKeyPath<Entry, String?>, _ reader: inout Reader) throws(NetworkError) {
        let value = try reader.value()
        guard let last = entries.indices.last else { throw reader.error("belongs to no machine") }
        entries[last][keyPath: part] = value
    }

    /// The first entry of a machine that has a password; with `usesDefault` the first `default` where there is none, wherever it stands.
    package func credential(for host: String, usesDefault: Bool) -> Credential? {
        let host = host.lowercased()
        let bare = host.utf8.first == UInt8(ascii: "[") && host.utf8.last == UInt8(ascii: "]") ? String(host.dropFirst().dropLast()) : host
        func first(_ isWanted: (Entry) -> Bool) -> Credential? {
            guard let entry = entries.first(where: { isWanted($0) && $0.password != nil }), let password = entry.password else {
                return nil
            }
            return .basic(user: entry.login ?? "", password: password)
        }
        return first { $0.machine == bare || $0.machine == host } ?? (usesDefault ? first { $0.machine == nil } : nil)
    }

    private struct Reader {
        private let all: [UInt8]
        private var rest: ArraySlice<UInt8>
        private var line = 1

        init(_ text: String) {
            all = Array(text.utf8)
            rest = all[...]
        }

        private mutating func next() -> UInt8? {
            guard let byte = rest.popFirst() else { return nil }
            if byte == UInt8(ascii: "\n") { line += 1 }
            return byte
        }

        private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

        /// To the next token, past comments.
        private mutating func skip() {
            var isLineStart = rest.startIndex == 0 || all[rest.startIndex - 1] == UInt8(ascii: "\n")
            while let byte = rest.first {
                if byte == UInt8(ascii: "#"), isLineStart {
                    while let byte = rest.first, byte != UInt8(ascii: "\n") { _ = next() }
                } else if Self.isBlank(byte) {
                    if byte == UInt8(ascii: "\n") { isLineStart = true }
                    _ = next()
                } else {
                    return
                }
            }
        }

        /// A keyword, or nil at the end.
        mutating func word() throws(NetworkError) -> String? {
            skip()
            return rest.isEmpty ? nil : try token()
        }

        mutating func value() throws(NetworkError) -> String {
            let start = line
            skip()
            guard !rest.isEmpty else { throw error("ends before its value", at: start) }
            return try token()
        }

        private mutating func token() throws(NetworkError) -> String {
            guard rest.first == UInt8(ascii: "\"") else {
                let token = rest.prefix { !Self.isBlank($0) }
                rest = rest.dropFirst(token.count)
                return String(decoding: token, as: UTF8.self)
            }
            let start = line
            _ = next()
            var text: [UInt8] = []
            while let byte = next() {
                if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
                guard byte == UInt8(ascii: "\\") else {
                    text.append(byte)
                    continue
                }
                guard let escaped = next() else { break }
                text.append(Self.unescaped(escaped))
            }
            throw error("holds a quotation without an end", at: start)
        }

        private static func unescaped(_ byte: UInt8) -> UInt8 {
            switch byte {
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            default: byte
            }
        }

        /// Its name and its lines, up to an empty one.
        mutating func skipMacro() {
            var isEmpty = false
            while let byte = next() {
                guard byte == UInt8(ascii: "\n") else {
                    if byte != UInt8(ascii: "\r") { isEmpty = false }
                    continue
                }
                if isEmpty { return }
                isEmpty = true
            }
        }

        func error(_ what: String, at line: Int? = nil) -> NetworkError {
            NetworkError(.invalidOption, phase: .preparing, message: "line \(line ?? self.line) of the netrc file \(what)")
        }
    }
}
