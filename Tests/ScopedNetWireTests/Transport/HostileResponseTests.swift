import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// What a server gets wrong: an error of its own for each, nothing hangs, and the session goes on.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct HostileResponseTests {
    private func error(_ response: ScriptedResponse, _ change: (inout RequestOptions) -> Void = { _ in }) async throws -> NetworkError {
        let found = Gathered<NetworkError>()
        try await withWire { wire async throws in
            wire.server.on("/", response)
            wire.server.on("/after", .ok("fine"))
            found.add(try await wire.get("/", change).failure())
            #expect(try await wire.send("/after").body == Data("fine".utf8))
        }
        return try #require(found.all.first)
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "HTTP/1.1\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/1.1 99 Low\r\n\r\n", "HTTP/1.1 1000 High\r\n\r\n",
        "HTTP/9.9 200 OK\r\n\r\n", "HTTP/ 200 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "\u{0}\u{1}\u{2}\u{3}\r\n\r\n", "<html>HTTP 0.9</html>",
        "HTTP/1.1 -200 OK\r\n\r\n", "HTTP/1.1 2 0 0\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
    ])
    func statusLines(_ text: String) async throws {
        let error = try await error(.raw(text))
        #expect(error.code == .badResponse, "\(error)")
        #expect(error.mayHaveReachedServer)
    }

    /// A line that goes on with nothing before it is refused, or is nobody's (RFC 9112 section 2.2): libcurl 7 calls it a bad argument.
    @Test func aFoldBeforeTheFirstField() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .raw("HTTP/1.1 200 OK\r\n X-A: 1\r\nContent-Length: 0\r\n\r\n"))
            switch await wire.get().outcome() {
            case .success(let response): #expect(response.head["x-a"] == nil && Capabilities.current.curlVersionNumber >= 0x080000)
            case .failure(let error): #expect(error.code == .badResponse, "\(error)")
            }
        }
    }

    @Test func anEndWithoutAHead() async throws {
        #expect(try await error(.raw("")).code == .connectionLost)
        #expect(try await error(.raw("HTTP/1.1 200 OK\r\nContent-")).code != .cancelled)
    }

    @Test(arguments: [
        "Content-Length: 10\r\nContent-Length: 20", "Content-Length: -1", "Content-Length: ten", "Content-Length: 99999999999999999999999",
        "Content-Length: 10, 20",
    ])
    func lengthsThatMakeNoSense(_ field: String) async throws {
        let error = try await error(.raw("HTTP/1.1 200 OK\r\n\(field)\r\n\r\n0123456789"))
        #expect([.badResponse, .truncatedBody].contains(error.code), "\(error)")
    }

    @Test func aBodyShorterThanItsLength() async throws {
        let error = try await error(.ok("0123").framed(.declaredLength(10)).ending(.close))
        #expect(error.code == .truncatedBody)
        #expect(error.phase == .receiving)
        #expect(error.response?.status == 200)
    }

    @Test func aBodyLongerThanItsLengthEndsWithIt() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcdHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"))
            wire.server.on("/after", .ok("fine"))
            #expect(try await wire.send().body == Data("abcd".utf8))
            // What followed is nobody's answer.
            #expect(try await wire.send("/after").body == Data("fine".utf8))
        }
    }

    /// A connection with bytes nobody asked for is not used again, also when the server keeps it open.
    @Test func anAnswerNobodyAskedForIsNotDelivered() async throws {
        try await withWire { wire async throws in
            wire.server.on(
                "/",
                .raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabcdHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil").stalling(
                    .afterBytes(85)))
            wire.server.on("/after", .ok("fine"))
            #expect(try await wire.send().body == Data("abcd".utf8))
            for _ in 0..<5 { #expect(try await wire.send("/after").body == Data("fine".utf8)) }
        }
    }

    @Test(arguments: [
        "zz\r\nabc\r\n", "-1\r\nabc\r\n", "FFFFFFFFFFFFFFFFF\r\nabc\r\n", "3abc\r\n", "\r\nabc", "3\r\nabcd\r\n0\r\n\r\n", " \r\n",
    ])
    func chunkSizes(_ text: String) async throws {
        let error = try await error(.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(text)"))
        #expect([.badResponse, .truncatedBody].contains(error.code), "\(error)")
        #expect(error.phase == .receiving)
    }

    @Test func aBodyCutInItsChunks() async throws {
        for cut in [0, 1, 4, 9] {
            let error = try await error(.ok("0123456789").framed(.chunked).ending(.truncate(afterBytes: cut)))
            #expect(error.code == .truncatedBody)
        }
    }

    @Test func aReset() async throws {
        #expect(try await error(.ok("0123456789").ending(.reset(afterBytes: 4))).code == .connectionLost)
    }

    @Test func hangingUp() async throws {
        let error = try await error(.failing)
        #expect(error.code == .connectionLost)
        #expect(error.phase == .awaitingResponse)
    }

    // MARK: Floods

    @Test func manyHeaderFields() async throws {
        let flood = (0..<5_000).map { "X-\($0): 1\r\n" }.joined()
        let error = try await error(.raw("HTTP/1.1 200 OK\r\n\(flood)\r\n"))
        #expect(error.code == .headersTooLarge)
    }

    @Test(arguments: [90_000, 150_000, 300_000, 2_000_000])
    func oneHugeHeaderField(_ size: Int) async throws {
        let response = ScriptedResponse.raw("HTTP/1.1 200 OK\r\nX: \(String(repeating: "x", count: size))\r\nContent-Length: 0\r\n\r\n")
        if size < 100_000 {
            try await withWire { wire async throws in
                wire.server.on("/", response)
                #expect(try await wire.send().head["x"]?.utf8.count == size)
            }
        } else {
            let error = try await error(response)
            #expect(error.code == .headersTooLarge, "\(error)")
            #expect(!error.message.contains("emory"), "\(error)")
        }
    }

    @Test func theCallersOwnLimit() async throws {
        let error = try await error(.ok().header("X", String(repeating: "x", count: 2_000))) { $0.limits.headerBytes = 1_000 }
        #expect(error.code == .headersTooLarge)
    }

    @Test func aStatusLineWithoutAnEnd() async throws {
        let error = try await error(.raw("HTTP/1.1 200 " + String(repeating: "x", count: 3_000_000)))
        #expect([.headersTooLarge, .badResponse].contains(error.code), "\(error)")
    }

    @Test func interimHeadsWithoutAnEnd() async throws {
        let flood = String(repeating: "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", count: 50_000)
        let error = try await error(.raw(flood))
        #expect(error.code == .headersTooLarge, "\(error)")
    }

    @Test func trailersWithoutAnEnd() async throws {
        let flood = String(repeating: "X: \(String(repeating: "x", count: 1_000))\r\n", count: 2_000)
        let error = try await error(.raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\(flood)"))
        #expect([.headersTooLarge, .badResponse].contains(error.code), "\(error)")
    }

    @Test func oneHugeTrailer() async throws {
        let error = try await error(
            .raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX: \(String(repeating: "x", count: 500_000))\r\n\r\n")
        )
        #expect([.headersTooLarge, .badResponse].contains(error.code), "\(error)")
    }

    @Test func oddLinesAreLeftOut() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .raw("HTTP/1.1 200 OK\r\nno colon\r\n: no name\r\nBad Name: 1\r\nX-Good: 1\r\nContent-Length: 2\r\n\r\nok"))
            let outcome = await wire.get().outcome()
            if case .success(let response) = outcome {
                #expect(response.body == Data("ok".utf8))
                #expect(response.head["x-good"] == "1")
            } else if case .failure(let error) = outcome {
                #expect(error.code == .badResponse)
            }
        }
    }

    // MARK: Every byte

    private static let responses: [(name: String, text: String)] = [
        ("length", "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello"),
        ("chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nX-Sum: 5\r\n\r\n"),
        ("until close", "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\nhello"),
        ("interim", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"),
        ("redirect", "HTTP/1.1 302 Found\r\nLocation: /after\r\nContent-Length: 0\r\n\r\n"),
    ]

    /// The server closes behind each byte in turn: an error, or a complete response, and never silence.
    @Test(arguments: 0..<5)
    func closingAtEveryByte(_ index: Int) async throws {
        let (name, text) = Self.responses[index]
        try await withWire { wire async throws in
            wire.server.on("/after", .ok("fine"))
            let count = text.utf8.count
            var completed: [Int] = []
            for offset in 0...count {
                wire.server.enqueue(.raw(text, closeAfter: offset), for: "/")
                let outcome = await wire.get { $0.timeouts = Timeouts(connect: .seconds(20), firstByte: .seconds(20), idle: .seconds(20)) }
                    .outcome()
                switch outcome {
                case .success(let response):
                    completed.append(offset)
                    if name != "until close" {
                        #expect(offset == count || name == "interim" || name == "chunked", "\(name), cut at \(offset): \(response.head)")
                    }
                case .failure(let error):
                    #expect([.connectionLost, .truncatedBody, .badResponse].contains(error.code), "\(name), cut at \(offset): \(error)")
                }
            }
            #expect(completed.last == count, "\(name) does not even complete as a whole: \(completed)")
            if name == "length" { #expect(completed == [count]) }
            if name == "chunked" { #expect(completed.allSatisfy { $0 > text.utf8.count - 14 }, "\(completed) of \(count)") }
            #expect(try await wire.send("/after").body == Data("fine".utf8))
        }
    }

    /// The same, reset instead of closed.
    @Test func resettingAtEveryByteOfABody() async throws {
        try await withWire { wire async throws in
            for offset in 0..<10 {
                wire.server.enqueue(.ok("0123456789").ending(.reset(afterBytes: offset)))
                let error = try await wire.get().failure()
                #expect(error.code == .connectionLost, "\(offset): \(error)")
            }
        }
    }

    /// One byte at a time, whole in the end.
    @Test func everyByteAlone() async throws {
        for (name, text) in Self.responses where name != "redirect" {
            try await withWire { wire async throws in
                wire.server.on("/", .raw(text).paced(bytes: 1, every: .zero))
                #expect(try await wire.send().status < 300, "\(name)")
            }
        }
    }
}
