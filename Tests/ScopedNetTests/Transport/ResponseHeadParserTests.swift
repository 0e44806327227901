import CleanSlate
import HTTPTypes
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ResponseHeadParserTests {
    private func parser(
        _ text: String, limits: ResponseHeadParser.Limits = .init()
    ) throws(ResponseHeadError) -> ResponseHeadParser {
        var parser = ResponseHeadParser(limits: limits)
        try parser.receive(Array(text.utf8))
        return parser
    }

    private func length(_ fields: String) -> Result<Int64?, ResponseHeadError> {
        do throws(ResponseHeadError) {
            return .success(try parser("HTTP/1.1 200 OK\r\n\(fields)\r\n").contentLength())
        } catch {
            return .failure(error)
        }
    }

    /// A connection that is cut in the middle of a head makes none of it.
    @Test(arguments: [
        "", "H", "HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nA: b\r",
        "HTTP/1.1 200 OK\r\nA: b\r\n\r",
    ])
    func aCutHeadIsNotComplete(_ text: String) {
        var parser = ResponseHeadParser()
        _ = try? parser.receive(Array(text.utf8))
        #expect(!parser.isComplete)
    }

    // MARK: Status line

    @Test(
        arguments: [
            ("HTTP/1.1 200 OK", .http1_1, 200, "OK"), ("HTTP/1.0 404 Not Found", .http1_0, 404, "Not Found"),
            ("HTTP/2 200 ", .http2, 200, ""), ("HTTP/2 204", .http2, 204, ""), ("HTTP/2.0 204", .http2, 204, ""),
            ("HTTP/3 200 ", .http3, 200, ""), ("HTTP/1.1 200", .http1_1, 200, ""), ("HTTP/1.1 999 ?", .http1_1, 999, "?"),
            ("HTTP/1.1 200 a  b ", .http1_1, 200, "a  b "), ("HTTP/1.1 200 größer", .http1_1, 200, "größer"),
        ] as [(String, ResponseHeadParser.Version, Int, String)])
    func statusLines(_ line: String, _ version: ResponseHeadParser.Version, _ status: Int, _ reason: String) throws {
        for end in ["\r\n", "\n"] {
            let parser = try parser(line + end + end)
            #expect(parser.version == version)
            #expect(parser.status == status)
            #expect(parser.reasonPhrase == reason)
            #expect(parser.isComplete)
        }
    }

    @Test func theReasonMayBeLatin1() throws {
        var parser = ResponseHeadParser()
        try parser.receive(Array("HTTP/1.1 200 gr".utf8) + [0xf6, 0xdf, 0x65, 0x0d, 0x0a])
        #expect(parser.reasonPhrase == "größe")
    }

    @Test(arguments: [
        "garbage", "HTTP", "HTTP/", "HTTP/1.1", "HTTP/1.1 ", "HTTP/1.1  200 OK", "HTTP/1.1 20 OK", "HTTP/1.1 2000 OK",
        "HTTP/1.1 +20 OK", "HTTP/1.1 020 OK", "HTTP/1.1 20: OK", "HTTP/1.1 20/ OK", "HTTP/1.1 2 0 OK", "HTTP/1.1 abc OK",
        "HTTP/1.1\t200 OK", "HTTP/4 200 OK",
        "HTTP/1.2 200 OK", "HTTP/11 200 OK", "http/1.1 200 OK", "HTTP /1.1 200 OK", " HTTP/1.1 200 OK", "ICY 200 OK",
        "Content-Type: text/html", "HTTP/1.1 ٢٠٠ OK", "<html>",
    ])
    func garbageIsNoStatusLine(_ line: String) {
        #expect(throws: ResponseHeadError.malformedStatusLine(String(line.prefix(64)))) { try parser(line + "\r\n\r\n") }
    }

    @Test func aLongGarbageLineIsCutInTheError() {
        #expect(throws: ResponseHeadError.malformedStatusLine(String(repeating: "x", count: 64))) {
            try parser(String(repeating: "x", count: 10_000))
        }
    }

    // MARK: Heads

    @Test func linesSayWhatTheyAre() throws {
        var parser = ResponseHeadParser()
        var lines: [ResponseHeadParser.Line] = []
        for line in [
            "\r\n", "HTTP/1.1 100 Continue\r\n", "X-A: 1\r\n", "\r\n", "HTTP/1.1 103 Early Hints\r\n", "Link: </a>\r\n", "\r\n",
            "HTTP/1.1 200 OK\r\n", "X-B: 2\r\n", "nonsense\r\n", "\r\n", "Trailer-A: 3\r\n", "\r\n",
        ] {
            lines.append(try parser.receive(Array(line.utf8)))
        }
        #expect(
            lines == [
                .skipped, .statusLine, .field, .informational(100), .statusLine, .field, .informational(103), .statusLine, .field,
                .skipped, .headComplete, .trailer, .skipped,
            ])
        #expect(parser.status == 200)
        #expect(!parser.contains("x-a"))
        #expect(!parser.contains("link"))
        #expect(parser.value(of: "x-b") == "2")
        #expect(!parser.contains("trailer-a"))
        #expect(parser.trailerFields() == [HTTPField.Name("Trailer-A")!: "3"])
        #expect(parser.skippedLines == 1)
    }

    @Test func switchingProtocolsIsFinal() throws {
        let parser = try parser("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")
        #expect(parser.isComplete)
        #expect(parser.value(of: "upgrade") == "websocket")
    }

    @Test func theAnswerToConnectIsReplaced() throws {
        let parser = try parser(
            "HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\nHTTP/2 404 \r\ncontent-type: text/plain\r\n\r\n")
        #expect(parser.status == 404)
        #expect(parser.version == .http2)
        #expect(!parser.contains("via"))
        #expect(parser.fields() == [.contentType: "text/plain"])
    }

    /// A server cannot replace its head from within, and neither can somebody who got a line into one of its fields.
    @Test func aStatusLineAmongTheFieldsIsSkipped() throws {
        let parser = try parser("HTTP/1.1 403 Forbidden\r\nX-A: 1\r\nHTTP/1.1 200 OK\r\nX-B: 2\r\n\r\n")
        #expect(parser.status == 403)
        #expect(parser.value(of: "x-a") == "1")
        #expect(parser.value(of: "x-b") == "2")
        #expect(parser.skippedLines == 1)
    }

    @Test func resetMakesRoomForTheNextResponse() throws {
        var parser = try parser("HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nX-T: 2\r\n")
        parser.reset()
        #expect(parser.status == 0)
        #expect(!parser.isComplete)
        #expect(parser.fieldBytes.isEmpty && parser.trailerBytes.isEmpty)
        try parser.receive(Array("HTTP/2 204 \r\n\r\n".utf8))
        #expect(parser.status == 204)
        #expect(parser.reasonPhrase.isEmpty)
        #expect(parser.fields().isEmpty)
    }

    // MARK: Fields

    @Test func namesAreFoundInAnyCase() throws {
        let parser = try parser(
            "HTTP/1.1 200 OK\r\nCONTENT-type:text/html\r\nX_Y: 1\r\nContent-Type-Options: no\r\nETag:\t\"x\" \t\r\n\r\n")
        #expect(parser.value(of: "content-type") == "text/html")
        #expect(parser.value(of: "etag") == "\"x\"")
        #expect(parser.value(of: "content") == nil)
        #expect(parser.value(of: "content-type-option") == nil)
        #expect(parser.value(of: "") == nil)
        // `_` and DEL differ in the bit that makes upper case lower case.
        #expect(parser.value(of: "x\u{7f}y") == nil)
        #expect(parser.withFirstValue(of: "content-type") { $0.count } == 9)
    }

    @Test func severalValuesAreJoinedInOrder() throws {
        let parser = try parser(
            "HTTP/1.1 200 OK\r\nVary: a\r\nSet-Cookie: x=1, 2\r\nVARY: b, c\r\nvary:\r\nSet-Cookie: y=3\r\n\r\n")
        #expect(parser.value(of: "vary") == "a, b, c, ")
        #expect(parser.values(of: "set-cookie") == ["x=1, 2", "y=3"])
        #expect(parser.fields()[values: .setCookie] == ["x=1, 2", "y=3"])
    }

    @Test func foldedLinesAreJoined() throws {
        let parser = try parser(
            "HTTP/1.1 200 OK\r\n folded into nothing\r\nX-A: one\r\n\t two \r\n   three\r\nX-B:\r\n value\r\n"
                + "X-C: 1\r\n \r\nX-D: 2\r\n\r\n")
        #expect(parser.value(of: "x-a") == "one two three")
        #expect(parser.value(of: "x-b") == "value")
        #expect(parser.value(of: "x-c") == "1")
        #expect(parser.value(of: "x-d") == "2")
        #expect(parser.skippedLines == 1)
    }

    @Test func aFoldBehindASkippedLineIsSkippedToo() throws {
        let parser = try parser("HTTP/1.1 200 OK\r\nX-A: 1\r\nbroken\r\n folded\r\n\r\n")
        #expect(parser.value(of: "x-a") == "1")
        #expect(parser.skippedLines == 2)
    }

    @Test(arguments: [
        "no colon", ": no name", "name : space", "na me: space", "n\u{e4}me: umlaut", "name\t: tab", "(x): y", "a/b: c", "a\"b: c",
        "x: a\u{0}b", "[x]: y", "a,b: c", "a@b: c",
    ])
    func linesThatAreNoFieldsAreSkipped(_ line: String) throws {
        let parser = try parser("HTTP/1.1 200 OK\r\n\(line)\r\nX-A: 1\r\n\r\n")
        #expect(parser.skippedLines == 1)
        #expect(parser.fields() == [HTTPField.Name("X-A")!: "1"])
    }

    @Test func allTokenCharactersMakeAName() throws {
        let name = "!#$%&'*+-.^_`|~09azAZ"
        let parser = try parser("HTTP/1.1 200 OK\r\n\(name): 1\r\n\r\n")
        #expect(parser.value(of: name.lowercased()) == "1")
        #expect(parser.fields().count == 1)
    }

    @Test func latin1BytesSurvive() throws {
        var parser = ResponseHeadParser()
        let value = Array(0x80...0xff as ClosedRange<UInt8>)
        try parser.receive(Array("HTTP/1.1 200 OK\r\nX-A: ".utf8) + value + Array("\r\nX-B: ä\r\n\r\n".utf8))
        let field = try #require(parser.fields().first)
        #expect(field.withUnsafeBytesOfValue { Array($0) } == value)
        #expect(parser.value(of: "x-a")?.unicodeScalars.map { UInt8($0.value) } == value)
        #expect(parser.value(of: "x-b") == "ä")
        #expect(parser.fields()[HTTPField.Name("X-B")!] == "ä")
    }

    @Test func aBareCarriageReturnBecomesASpace() throws {
        let parser = try parser("HTTP/1.1 200 OK\r\nX-A: one\rX-B: two\r\r\n\r\n")
        #expect(parser.value(of: "x-a") == "one X-B: two")
        #expect(!parser.contains("x-b"))
    }

    // MARK: Content-Length

    @Test(
        arguments: [
            ("", nil), ("Content-Length: 0\r\n", 0), ("content-length:5\r\n", 5), ("Content-Length: 0005\r\n", 5),
            ("Content-Length: 5\r\nContent-Length: 5\r\n", 5), ("Content-Length: 5, 5\r\n", 5), ("Content-Length: 5 ,05\r\n", 5),
            ("Content-Length: 9223372036854775807\r\n", .max),
        ] as [(String, Int64?)])
    func legalLengths(_ fields: String, _ expected: Int64?) {
        #expect(length(fields) == .success(expected))
    }

    @Test(arguments: [
        "", " ", "-5", "+5", "5.0", "0x5", "5 5", "5,", ",5", "9223372036854775808", "99999999999999999999999", "5b", "٥", "five", "5:",
        "5/",
    ])
    func illegalLengths(_ value: String) {
        #expect(length("Content-Length: \(value)\r\n") == .failure(.malformedContentLength))
    }

    @Test(arguments: ["Content-Length: 5\r\nContent-Length: 6\r\n", "Content-Length: 5, 6\r\n"])
    func lengthsThatDisagree(_ fields: String) {
        #expect(length(fields) == .failure(.conflictingContentLength))
    }

    // MARK: Limits

    @Test func theHeadIsLimited() throws {
        let text = "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n"
        let exact = try parser(text, limits: .init(headBytes: text.utf8.count))
        #expect(exact.isComplete)
        #expect(throws: ResponseHeadError.headTooLarge(limit: text.utf8.count - 1)) {
            try parser(text, limits: .init(headBytes: text.utf8.count - 1))
        }
    }

    /// By their bytes or by their number, whichever comes first.
    @Test func endlessInterimHeadsAreStopped() {
        var byBytes = ResponseHeadParser(limits: .init(headBytes: 1_000))
        var byNumber = ResponseHeadParser(limits: .init(interimHeads: 3))
        let head = Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8)
        #expect(throws: ResponseHeadError.headTooLarge(limit: 1_000)) { while true { try byBytes.receive(head) } }
        for _ in 0..<2 {
            var count = 0
            #expect(throws: ResponseHeadError.tooManyInterimHeads(limit: 3)) {
                while true {
                    try byNumber.receive(head)
                    count += 1
                }
            }
            #expect(count == 3)
            byNumber.reset()
        }
    }

    @Test func fieldsAreLimitedTrailersIncluded() throws {
        let limits = ResponseHeadParser.Limits(fields: 2)
        #expect(throws: Never.self) { try parser("HTTP/1.1 200 OK\r\na:1\r\nb:2\r\n\r\n", limits: limits) }
        #expect(throws: ResponseHeadError.tooManyFields(limit: 2)) {
            try parser("HTTP/1.1 200 OK\r\na:1\r\nb:2\r\nc:3\r\n\r\n", limits: limits)
        }
        #expect(throws: ResponseHeadError.tooManyFields(limit: 2)) {
            try parser("HTTP/1.1 200 OK\r\na:1\r\nb:2\r\n\r\nc:3\r\n", limits: limits)
        }
        #expect(throws: ResponseHeadError.tooManyFields(limit: 2)) {
            try parser("HTTP/1.1 200 OK\r\nx\r\nx\r\nx\r\n\r\n", limits: limits)
        }
    }

    @Test func noiseNeitherTrapsNorBreaksTheForm() {
        var generator = SeededGenerator(seed: 3)
        let alphabet: [UInt8] = Array("aA:  \t\r\n\n,5".utf8) + [0, 0x80, 0xff]
        for _ in 0..<3_000 {
            var parser = ResponseHeadParser()
            let noise = (0..<60).map { _ in alphabet.randomElement(using: &generator)! }
            _ = try? parser.receive(Array("HTTP/1.1 200 OK\r\n".utf8) + noise)
            for bytes in [parser.fieldBytes, parser.trailerBytes] where !bytes.isEmpty {
                #expect(bytes.last == 0x0a)
                #expect(!bytes.contains(0) && !bytes.contains(0x0d))
            }
            let lines = parser.fieldBytes.split(separator: 0x0a).count
            #expect(parser.fields().count == lines)
        }
    }
}
