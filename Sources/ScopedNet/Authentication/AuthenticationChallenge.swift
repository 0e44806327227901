/// One challenge of `WWW-Authenticate` or `Proxy-Authenticate` (RFC 9110 section 11.6.1). (pure)
public struct AuthenticationChallenge: Sendable, Hashable {
    /// Lower case.
    public var scheme: String
    /// What stands behind the scheme where it is no list of parameters.
    public var token68: String?
    /// Names in lower case, values without quotes and backslashes. Of equal names the first one counts.
    public var parameters: [String: String]

    /// What the server calls the part of itself that this is for.
    public var realm: String? { parameters["realm"] }

    /// Makes a challenge of its parts, for tests; a response's challenges come parsed in ``AuthenticationChallenge/Context/challenges``.
    public init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme
        self.token68 = token68
        self.parameters = parameters
    }

    /// All challenges of a field, in their order. What is no challenge is passed over as far as the next comma; an unfinished quotation ends it.
    package static func parse(_ field: String) -> [AuthenticationChallenge] {
        var reader = Reader(rest: Array(field.utf8)[...])
        var challenges: [AuthenticationChallenge] = []
        while reader.skipToNext() {
            guard let scheme = reader.token() else {
                reader.skipToComma()
                continue
            }
            var challenge = AuthenticationChallenge(scheme: scheme.lowercased())
            if reader.skipSpaces() { reader.content(of: &challenge) }
            challenges.append(challenge)
        }
        return challenges
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        /// To the start of the next element of the list; false at the end.
        mutating func skipToNext() -> Bool {
            rest = rest.drop { $0 == UInt8(ascii: ",") || Self.isSpace($0) }
            return !rest.isEmpty
        }

        mutating func skipToComma() { rest = rest.drop { $0 != UInt8(ascii: ",") } }

        @discardableResult
        mutating func skipSpaces() -> Bool {
            let before = rest.count
            rest = rest.drop(while: Self.isSpace)
            return rest.count < before
        }

        mutating func token() -> String? {
            let token = rest.prefix(while: Self.isTokenByte)
            rest = rest.dropFirst(token.count)
            return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
        }

        /// Parameters as long as they are some; `a=b` behind a comma is one of ours, `a b` the next challenge.
        mutating func content(of challenge: inout AuthenticationChallenge) {
            guard let first = parameter() else {
                challenge.token68 = token68()
                return skipToComma()
            }
            challenge.parameters[first.0] = first.1
            while true {
                let mark = rest
                skipSpaces()
                guard rest.first == UInt8(ascii: ","), skipToNext(), let next = parameter() else {
                    // Of an unfinished quotation nothing is read again.
                    if !rest.isEmpty { rest = mark }
                    return skipToComma()
                }
                if challenge.parameters[next.0] == nil { challenge.parameters[next.0] = next.1 }
            }
        }

        /// Nil, and nothing is read, where there is none.
        private mutating func parameter() -> (String, String)? {
            let mark = rest
            if let name = token() {
                skipSpaces()
                if rest.first == UInt8(ascii: "=") {
                    rest = rest.dropFirst()
                    skipSpaces()
                    if let value = rest.first == UInt8(ascii: "\"") ? quoted() : token() { return (name.lowercased(), value) }
                    // Unfinished: nothing behind it can be told from its inside.
                    if rest.first == UInt8(ascii: "\"") {
                        rest = []
                        return nil
                    }
                }
            }
            rest = mark
            return nil
        }

        private mutating func quoted() -> String? {
            var text: [UInt8] = []
            var index = rest.index(after: rest.startIndex)
            while index < rest.endIndex, rest[index] != UInt8(ascii: "\"") {
                if rest[index] == UInt8(ascii: "\\") { index += 1 }
                guard index < rest.endIndex else { return nil }
                text.append(rest[index])
                index += 1
            }
            guard index < rest.endIndex else { return nil }
            rest = rest[(index + 1)...]
            return String(decoding: text, as: UTF8.self)
        }

        private mutating func token68() -> String? {
            let mark = rest
            var token = rest.prefix { Self.isToken68Byte($0) }
            let equals = rest.dropFirst(token.count).prefix { $0 == UInt8(ascii: "=") }
            guard !token.isEmpty else { return nil }
            token = rest[token.startIndex..<equals.endIndex]
            rest = rest[equals.endIndex...]
            skipSpaces()
            guard rest.isEmpty || rest.first == UInt8(ascii: ",") else {
                rest = mark
                return nil
            }
            return String(decoding: token, as: UTF8.self)
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

        private static func isTokenByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "!#$%&'*+-.^_`|~".utf8.contains(byte) }

        private static func isToken68Byte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "-._~+/".utf8.contains(byte) }

        private static func isAlphanumeric(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            default: false
            }
        }
    }
}
