import Testing

@testable import ScopedNet

/// The state between heads, and the bytes within a line.
extension ResponseHeadParserTests {
    private func received(_ text: String, limits: ResponseHeadParser.Limits = .init()) throws -> ResponseHeadParser {
        var parser = ResponseHeadParser(limits: limits)
        try parser.receive(Array(text.utf8))
        return parser
    }

    /// One line as libcurl hands it over: it may hold line ends of its own.
    private func line(_ text: String, after head: String = "HTTP/1.1 200 OK\r\n") throws -> (ResponseHeadParser.Line, ResponseHeadParser) {
        var parser = try received(head)
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBytes { bytes in
            do throws(ResponseHeadError) {
                return Result<ResponseHeadParser.Line, ResponseHeadError>.success(try parser.receive(line: bytes))
            } catch {
                return .failure(error)
            }
        }
        return (try result.get(), parser)
    }

    // MARK: Between heads

    @Test func aParserThatHasReceivedNothingKnowsNothing() throws {
        var parser = ResponseHeadParser()
        #expect(parser.status == 0 && parser.skippedLines == 0 && !parser.isComplete)
        #expect(parser.fieldBytes.isEmpty && parser.trailerBytes.isEmpty && parser.reasonPhrase.isEmpty)
        #expect(!parser.hasContentEncoding && !parser.hasTransferEncoding)
        let nothing = try parser.receive(line: UnsafeRawBufferPointer(start: nil, count: 0))
        #expect(nothing == .skipped)
    }

    @Test func aResetBeginsTheCountsAnew() throws {
        let text = "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n"
        var parser = try received(text, limits: .init(headBytes: text.utf8.count))
        parser.reset()
        try parser.receive(Array(text.utf8))
        #expect(parser.isComplete)
        parser.reset(limits: .init(headBytes: 5))
        #expect(throws: ResponseHeadError.headTooLarge(limit: 5)) { try parser.receive(Array(text.utf8)) }
    }

    @Test func everyHeadHasItsOwnCounts() throws {
        let limits = ResponseHeadParser.Limits(fields: 2)
        let parser = try received("HTTP/1.1 103 Hints\r\na: 1\r\nbroken\r\n\r\nHTTP/1.1 200 OK\r\na: 1\r\nb: 2\r\n\r\n", limits: limits)
        #expect(parser.skippedLines == 0 && parser.fields().count == 2)
    }

    @Test func anInterimLengthIsNotTheResponses() throws {
        let parser = try received("HTTP/1.1 103 Hints\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")
        let length = try parser.contentLength()
        #expect(length == nil)
        let second = try received("HTTP/1.1 103 Hints\r\nContent-Length: 3\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n")
        let own = try second.contentLength()
        #expect(own == 4)
    }

    @Test func aFoldNeverReachesIntoAnotherSection() throws {
        let trailer = try received("HTTP/1.1 200 OK\r\nA: 1\r\n\r\n folded\r\n")
        #expect(trailer.trailerBytes.isEmpty && trailer.skippedLines == 1 && trailer.value(of: "a") == "1")
        let head = try received("HTTP/1.1 200 OK\r\n\r\nT: 1\r\nHTTP/1.1 200 OK\r\n folded\r\nB: 2\r\n\r\n")
        #expect(head.skippedLines == 1 && head.value(of: "b") == "2" && head.fields().count == 1)
    }

    @Test func trailersMayBeFolded() throws {
        // The last field of the head says where the message ends; that of the trailer does not.
        let parser = try received("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nT: 1\r\n 2\r\n")
        #expect(String(decoding: parser.trailerBytes, as: UTF8.self) == "T:1 2\n")
    }

    @Test(arguments: ["Content-Length: 5\r\n 6\r\n", "Transfer-Encoding: chunked\r\n\t, gzip\r\n", "TRANSFER-ENCODING: chunked\r\n x\r\n"])
    func aFoldedFramingFieldIsRefused(fields: String) {
        #expect(throws: ResponseHeadError.ambiguousFraming("a field that frames the message is folded")) {
            try received("HTTP/1.1 200 OK\r\n\(fields)\r\n")
        }
    }

    @Test func anotherFieldBehindItMayBeFolded() throws {
        let parser = try received("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n 2\r\n\r\n")
        #expect(parser.value(of: "x-a") == "1 2")
    }

    @Test func codingsAreNoted() throws {
        let parser = try received("HTTP/1.1 200 OK\r\nCONTENT-ENCODING: gzip\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(parser.hasContentEncoding && parser.hasTransferEncoding)
        let others = try received("HTTP/1.1 200 OK\r\nXontent-Encoding: gzip\r\nXransfer-Encoding: chunked\r\n\r\n")
        #expect(!others.hasContentEncoding && !others.hasTransferEncoding)
    }

    @Test func aFieldThatIsThereIsContained() throws {
        let parser = try received("HTTP/1.1 200 OK\r\na: 1\r\nVary: x\r\nVary: y\r\n\r\n")
        #expect(parser.contains("vary") && parser.contains("a") && !parser.contains("b"))
        let first = parser.withFirstValue(of: "vary") { Array($0) }
        #expect(first == Array("x".utf8) && parser.value(of: "a") == "1")
    }

    @Test(arguments: ["HXTP/1.1 200 OK", "HTXP/1.1 200 OK", "HTTX/1.1 200 OK", "XTTP/1.1 200 OK", "HTTP:1.1 200 OK"])
    func everyLetterOfTheProtocolCounts(line: String) {
        #expect(throws: ResponseHeadError.malformedStatusLine(line)) { try received(line + "\r\n") }
    }

    @Test func whatBeginsLikeAStatusLineBehindAHeadIsOne() {
        #expect(throws: ResponseHeadError.malformedStatusLine("HTTP/")) { try received("HTTP/1.1 200 OK\r\n\r\nHTTP/\r\n") }
    }

    @Test func theFirstComplaintAboutLengthsCounts() throws {
        for (lines, expected) in [
            (["x", "1", "2"], ResponseHeadError.malformedContentLength), (["1", "2", "x"], .conflictingContentLength),
        ] {
            let parser = try received("HTTP/1.1 200 OK\r\n" + lines.map { "Content-Length: \($0)\r\n" }.joined() + "\r\n")
            #expect(throws: expected) { try parser.contentLength() }
        }
    }

    // MARK: Bytes of a value

    /// Eight bytes are looked at at a time, and the last eight once more.
    @Test func aControlCharacterIsFoundWhereverItIs() throws {
        for count in 1...26 {
            for place in 0..<count {
                var value = [UInt8](repeating: UInt8(ascii: "v"), count: count)
                for (byte, isSkipped) in [(UInt8(0), true), (0x0d, false), (0x0e, false)] {
                    value[place] = byte
                    var parser = try received("HTTP/1.1 200 OK\r\n")
                    let line = try parser.receive(Array("X-A: ".utf8) + value + [0x0d, 0x0a])
                    let isLineEnd = parser.fieldBytes.contains(0x0d)
                    #expect((line == .skipped) == isSkipped && !isLineEnd, "\(byte) at \(place) of \(count)")
                    if byte == 0x0e { #expect(parser.fieldBytes == Array("X-A:".utf8) + value + [0x0a]) }
                }
            }
        }
    }

    @Test func lineEndsWithinALineBecomeSpaces() throws {
        let (inner, first) = try line("X-A: one\ntwo\r\n")
        #expect(inner == .field && first.value(of: "x-a") == "one two" && first.fields().count == 1)
        let (last, second) = try line("X-A: one\n\n")
        #expect(last == .field && String(decoding: second.fieldBytes, as: UTF8.self) == "X-A:one \n")
        let (leading, third) = try line("X-A: \rone\r\n")
        #expect(leading == .field && third.value(of: "x-a") == "one")
    }

    @Test func exactlyTheCharactersOfATokenMakeAName() {
        let token = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for byte in UInt8.min...UInt8.max {
            #expect(ResponseHeadParser.isTokenByte(byte) == token.contains(byte), "\(byte)")
            #expect(ResponseHeadParser.isLetter(byte) == (0x61...0x7a).contains(byte), "\(byte)")
            #expect(ResponseHeadParser.isDigit(byte) == (0x30...0x39).contains(byte), "\(byte)")
        }
    }

    @Test func knownNamesMatchInAnyCaseAndNoOtherWay() {
        func matches(_ name: String) -> Bool {
            Array(name.utf8).withUnsafeBytes { FieldLines.matches($0, known: "content-length") }
        }
        #expect(matches("content-length") && matches("CONTENT-LENGTH") && matches("Content-Length"))
        // A carriage return differs from the hyphen in the bit that makes small letters of large ones.
        #expect(!matches("content\rlength") && !matches("xontent-length") && !matches("content-lengtx") && !matches("CONTENT_LENGTH"))
    }
}
