import CleanSlate
import Testing

@testable import ScopedNet

/// What several readers could see the end of in several places (RFC 9112 sections 6.1, 6.3 and 11.1), asked of the parser alone.
@Suite(.leavesNothing) struct ResponseHeadFramingTests {
    private func failure(_ fields: String, version: String = "HTTP/1.1") throws -> ResponseHeadError? {
        var parser = ResponseHeadParser()
        try parser.receive(Array("\(version) 200 OK\r\n\(fields)\r\n".utf8))
        do throws(ResponseHeadError) { try parser.checkFraming() } catch { return error }
        return nil
    }

    @Test(arguments: ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n", "transfer-encoding: Chunked\r\n"])
    func oneFramingIsFine(fields: String) throws {
        let failure = try failure(fields)
        #expect(failure == nil)
    }

    @Test(arguments: [
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ])
    func twoFramingsAreNot(fields: String) throws {
        guard case .ambiguousFraming(let why)? = try failure(fields) else {
            Issue.record("\(fields) was accepted")
            return
        }
        #expect(!why.isEmpty)
    }

    @Test func aVersionWithoutTransferEncodingHasNone() throws {
        let old = try failure("Transfer-Encoding: chunked\r\n", version: "HTTP/1.0")
        #expect(old != nil)
    }

    @Test func lengthsThatAreNoneOrDisagree() throws {
        let broken = try failure("Content-Length: x\r\n")
        #expect(broken == .malformedContentLength)
        let two = try failure("Content-Length: 1\r\nContent-Length: 2\r\n")
        #expect(two == .conflictingContentLength)
    }

    /// A folded or misspelt name is none; a longer one is another.
    @Test func beginningsOfNames() {
        func begins(_ line: String) -> Bool { Array(line.utf8).withUnsafeBytes { ResponseHeadParser.beginsWithFramingName($0) } }
        for line in ["Content-Length: 1", "content-length:1", "TRANSFER-ENCODING : x", "Transfer-Encoding\t: x"] { #expect(begins(line)) }
        for line in [
            "Content-Lengths: 1", "Content-Length", "Content-Leng: 1", "X-Transfer-Encoding: x", "Xontent-Length: 1", "Content\rLength: 1",
            "",
        ] { #expect(!begins(line)) }
    }

    @Test func theNextHeadStartsAnew() throws {
        var parser = ResponseHeadParser()
        try parser.receive(Array("HTTP/1.1 100 Continue\r\nTransfer-Encoding: gzip\r\nContent-Encoding: br\r\n\r\n".utf8))
        try parser.receive(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".utf8))
        try parser.checkFraming()
        let length = try parser.contentLength()
        #expect(length == 5 && parser.status == 200 && !parser.hasTransferEncoding && !parser.hasContentEncoding)
    }
}
