import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

/// Odd framing, and what becomes of it: the table of `docs/hostile-input.md`, row by row.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5)))
struct FramingTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let head: String
        let body: String
        /// The body that is delivered, or the code of the error.
        let outcome: String
        /// What newer versions of libcurl make of it that unfold lines before anybody sees them.
        var unfolded: String?
        var testDescription: String { name }

        init(_ name: String, _ head: String, _ body: String, _ outcome: String) {
            self.name = name
            self.head = head
            self.body = body
            self.outcome = outcome
        }

        func unfolding(_ unfolded: String) -> Row {
            var row = self
            row.unfolded = unfolded
            return row
        }

        /// A chunked body.
        init(chunks name: String, _ body: String, _ outcome: String) {
            self.init(name, "Transfer-Encoding: chunked", body, outcome)
        }
    }

    /// Complete if the size is 3, whatever it is taken for otherwise.
    private static func sized(_ size: String, _ outcome: String) -> Row {
        Row(chunks: "chunk size '\(size.utf8.count > 40 ? "\(size.count) characters" : size)'", "\(size)\r\nabc\r\n0\r\n\r\n", outcome)
    }

    private static let chunks: [Row] = [
        sized("3", "abc"), sized("003", "abc"), sized("3 ", "abc"), sized("3\t", "abc"), sized("3;a=b", "abc"),
        sized("3;a=\"\u{1}\"", "abc"),
        sized("3 garbage", "abc"), sized("3abc", "truncatedBody"), sized("0x3", "badResponse"), sized("+3", "badResponse"),
        sized("-1", "badResponse"), sized(" 3", "badResponse"), sized("", "badResponse"),
        sized("3,3", "abc"), sized("00000000000000000003", "badResponse"), sized("0000000000000003", "abc"),
        sized("FFFFFFFFFFFFFFFF", "badResponse"),
        sized("7FFFFFFFFFFFFFFF", "truncatedBody"), sized("8000000000000000", "badResponse"), sized("10000000000000003", "badResponse"),
        sized("3;" + String(repeating: "x", count: 10_000), "abc"), sized("3;" + String(repeating: "x", count: 1 << 20), "abc"),
        sized("3\n", "badResponse"), sized("3\r", "abc"),
        Row(chunks: "0x3, and data that looks like a trailer", "0x3\r\na:b\r\n\r\n", ""),
        Row(chunks: "no CR LF behind the data", "3\r\nabc0\r\n\r\n", "badResponse"),
        Row(chunks: "more data than the size", "3\r\nabcd\r\n0\r\n\r\n", "badResponse"),
        Row(chunks: "LF alone", "3\nabc\n0\n\n", "abc"),
        Row(chunks: "no last chunk", "3\r\nabc\r\n", "truncatedBody"),
        Row(chunks: "no empty line behind the last chunk", "3\r\nabc\r\n0\r\n", "truncatedBody"),
        Row(chunks: "a last chunk of many zeros", "3\r\nabc\r\n0000\r\n\r\n", "abc"),
        Row(chunks: "trailers", "3\r\nabc\r\n0\r\nX: 1\r\n\r\n", "abc"),
        Row(chunks: "100,000 trailers", "3\r\nabc\r\n0\r\n" + String(repeating: "X: 1\r\n", count: 100_000) + "\r\n", "headersTooLarge"),
        Row(chunks: "a trailer of 1 MiB", "3\r\nabc\r\n0\r\nX: " + String(repeating: "x", count: 1 << 20) + "\r\n\r\n", "headersTooLarge"),
        Row(chunks: "Content-Length in the trailer", "3\r\nabc\r\n0\r\nContent-Length: 1\r\n\r\n", "abc"),
    ]

    private static let heads: [Row] = [
        Row(
            "Content-Length and Transfer-Encoding", "Content-Length: 3\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n",
            "badResponse"),
        Row(
            "Transfer-Encoding and Content-Length", "Transfer-Encoding: chunked\r\nContent-Length: 3", "3\r\nabc\r\n0\r\n\r\n",
            "badResponse"),
        Row("Transfer-Encoding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("Transfer-Encoding: chunked, chunked", "Transfer-Encoding: chunked, chunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("Transfer-Encoding: CHUNKED", "Transfer-Encoding: CHUNKED", "3\r\nabc\r\n0\r\n\r\n", "abc"),
        Row("Transfer-Encoding: identity", "Transfer-Encoding: identity", "abc", "badResponse"),
        Row("Transfer-Encoding: gzip", "Transfer-Encoding: gzip", "abc", "badResponse"),
        Row("Transfer-Encoding: xchunked", "Transfer-Encoding: xchunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("Transfer-Encoding: chunked; q=1", "Transfer-Encoding: chunked; q=1", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("Transfer-Encoding without a value", "Transfer-Encoding:", "abc", "badResponse"),
        Row("a space before the colon of Transfer-Encoding", "Transfer-Encoding : chunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("a NUL in Transfer-Encoding", "Transfer-Encoding: chunked\u{0}", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("a folded Transfer-Encoding", "Transfer-Encoding:\r\n chunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse").unfolding("abc"),
        Row("a vertical tab in Transfer-Encoding", "Transfer-Encoding: \u{B}chunked", "3\r\nabc\r\n0\r\n\r\n", "badResponse"),
        Row("two lengths", "Content-Length: 3\r\nContent-Length: 4", "abcd", "badResponse"),
        Row("the same length twice", "Content-Length: 3\r\nContent-Length: 3", "abc", "abc"),
        Row("Content-Length: 3,3", "Content-Length: 3,3", "abc", "abc"),
        Row("Content-Length: 3,4", "Content-Length: 3,4", "abcd", "badResponse"),
        Row("Content-Length: 3,", "Content-Length: 3,", "abc", "badResponse"),
        Row("Content-Length: +3", "Content-Length: +3", "abc", "badResponse"),
        Row("Content-Length: -1", "Content-Length: -1", "abc", "badResponse"),
        Row("Content-Length: 1e30", "Content-Length: 1e30", "abc", "badResponse"),
        Row("Content-Length: 0x3", "Content-Length: 0x3", "abc", "badResponse"),
        Row("Content-Length: 3 3", "Content-Length: 3 3", "abc", "badResponse"),
        Row("Content-Length: 3;", "Content-Length: 3;", "abc", "badResponse"),
        Row("Content-Length: 003", "Content-Length: 003", "abc", "abc"),
        Row("Content-Length of 30 digits", "Content-Length: 100000000000000000000000000003", "abc", "badResponse"),
        Row("Content-Length without a value", "Content-Length:", "abc", "badResponse"),
        Row("a space before the colon of Content-Length", "Content-Length : 2", "abc", "badResponse"),
        Row("a folded Content-Length", "Content-Length:\r\n 3", "abc", "badResponse").unfolding("abc"),
        Row("a fold behind Content-Length", "Content-Length: 3\r\n 4", "abc", "badResponse"),
        Row("neither", "X: 1", "abc", "abc"),
        Row("folds elsewhere", "X: 1\r\n 2\r\nContent-Length: 3", "abc", "abc"),
    ]

    @Test(arguments: chunks + heads)
    func row(_ row: Row) async throws {
        try await withRawServer({ connection, _ in
            while let head = connection.readHead() {
                guard head.hasPrefix("GET /after") else {
                    connection.send("HTTP/1.1 200 OK\r\n\(row.head)\r\n\r\n\(row.body)")
                    return
                }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
            }
        }) { server, session in
            let url = "http://127.0.0.1:\(server.port)"
            let request = session.request(url + "/").options { $0.timeouts = Timeouts(firstByte: .seconds(10), idle: .seconds(10)) }
            let outcome = await request.outcome()
            let seen: String
            switch outcome {
            case .success(let response): seen = String(decoding: response.body, as: UTF8.self)
            case .failure(let error): seen = error.code.description
            }
            let isUnfolded = Capabilities.current.curlVersionNumber > 0x080E00 && seen == row.unfolded
            #expect(seen == row.outcome || isUnfolded, "\(outcome)")
            let after = try await session.send(url + "/after").body
            #expect(after == Data("fine".utf8))
        }
    }

    /// Bytes behind what libcurl takes for the end are nobody's answer, though the server keeps the connection open.
    @Test(arguments: ["Content-Length: 3\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n0x3\r\na:b\r\n\r\n"])
    func whatFollowsIsNotTheNextAnswer(_ text: String) async throws {
        try await withRawServer({ connection, _ in
            while let head = connection.readHead() {
                let isFirst = head.hasPrefix("GET /first")
                let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
                connection.send(isFirst ? "HTTP/1.1 200 OK\r\n\(text)\(smuggled)" : "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
            }
        }) { server, session in
            let url = "http://127.0.0.1:\(server.port)"
            for _ in 0..<10 {
                _ = await session.request(url + "/first").outcome()
                let after = try await session.send(url + "/after").body
                #expect(after == Data("fine".utf8))
            }
        }
    }

    /// It used to wait for a body that no clock but the idle one would end.
    @Test func aSwitchOfProtocolsNobodyAskedForIsRefusedAtOnce() async throws {
        try await withRawServer({ connection, _ in
            guard connection.readHead() != nil else { return }
            connection.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n")
            _ = connection.readHead()
        }) { server, session in
            let error = try await session.request("http://127.0.0.1:\(server.port)/").failure()
            #expect(error.code == .badResponse)
            #expect(error.response?.status == nil || error.response?.status == 101)
        }
    }
}
