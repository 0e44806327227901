import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Servers that break HTTP/2 on purpose: an answer or an error within the clocks, and neighbours on other connections notice nothing.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(2)))
struct HostileHTTP2Tests {
    private typealias Peer = HTTP2Peer

    struct Act: Sendable, CustomTestStringConvertible {
        let name: String
        /// `200` and the codes a client may end with.
        let expected: Set<String>
        let play: @Sendable (HTTP2Peer, UInt32) -> Void
        var testDescription: String { name }

        init(_ name: String, _ expected: String..., play: @escaping @Sendable (HTTP2Peer, UInt32) -> Void) {
            self.name = name
            self.expected = Set(expected)
            self.play = play
        }
    }

    private static let lost: Set<String> = ["connectionLost", "truncatedBody", "badResponse"]

    private func configure(_ configuration: inout Session.Configuration) {
        configuration.options.timeouts = Timeouts(connect: .seconds(10), firstByte: .seconds(3), idle: .seconds(2), total: .seconds(20))
    }

    /// Each connection's requests are answered by `play`; meanwhile another server's must be well.
    private func meet(
        _ play: @escaping @Sendable (HTTP2Peer, UInt32) -> Void, settings: [(UInt16, UInt32)] = [],
        _ test: (RawServer, Session, LoopbackServer) async throws -> Void
    ) async throws {
        let values = settings.map { Setting(name: $0.0, value: $0.1) }
        try await withLoopbackServer { neighbour async throws in
            neighbour.on("/", .ok("fine"))
            try await withRawServer(
                { connection, _ in
                    let peer = HTTP2Peer(connection: connection)
                    peer.greet(values.map { ($0.name, $0.value) })
                    while let stream = peer.nextRequest() { play(peer, stream) }
                }, configure: configure
            ) { server, session in
                try await test(server, session, neighbour)
                #expect(try await session.send(neighbour.url + "/").body == Data("fine".utf8))
            }
        }
    }

    private struct Setting: Sendable {
        let name: UInt16
        let value: UInt32
    }

    private func get(_ server: RawServer, _ session: Session) -> Request<Data> {
        session.request("http://127.0.0.1:\(server.port)/").options { $0.httpVersion = .http2PriorKnowledge }
    }

    private func word(_ outcome: Result<Response<Data>, NetworkError>) -> String {
        switch outcome {
        case .success(let response): "\(response.status)"
        case .failure(let error): error.code.description
        }
    }

    // MARK: One answer

    private static let head = HTTP2Peer.endHeaders
    private static let last = HTTP2Peer.endStream

    private static let acts: [Act] = [
        Act("an answer", "200") { $0.connection.send(HTTP2Peer.answer($1, "x")) },
        Act("unknown frames and flags are ignored", "200") { peer, stream in
            peer.connection.send(HTTP2Peer.bytes(0xBA, 0xFF, 0, [1, 2, 3]) + HTTP2Peer.bytes(0xFE, 0, stream, []))
            peer.connection.send(HTTP2Peer.answer(stream, "x"))
        },
        Act("GOAWAY behind this stream, then the rest", "200") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok)
            peer.send(.goAway, 0, 0, HTTP2Peer.number(stream) + HTTP2Peer.number(0))
            peer.send(.data, last, stream, [1])
        },
        Act("GOAWAY before this stream", "connectionLost") { peer, _ in peer.send(.goAway, 0, 0, HTTP2Peer.number(0) + HTTP2Peer.number(0))
        },
        Act("GOAWAY with an error, then silence", "connectionLost", "firstByteTimeout") { peer, stream in
            peer.send(.goAway, 0, 0, HTTP2Peer.number(stream) + HTTP2Peer.number(2))
        },
        Act("GOAWAY in the body, then the end", "truncatedBody", "connectionLost") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok)
            peer.send(.data, 0, stream, [1])
            peer.send(.goAway, 0, 0, HTTP2Peer.number(stream) + HTTP2Peer.number(1))
            peer.connection.reset()
        },
        Act("silence behind the head", "idleTimeout") { peer, stream in peer.send(.headers, head, stream, HTTP2Peer.ok) },
        Act("silence", "firstByteTimeout") { _, _ in },
        Act("a PING flood, then the answer", "200", "connectionLost") { peer, stream in
            let pings = Array([[UInt8]](repeating: HTTP2Peer.bytes(.ping, 0, 0, [UInt8](repeating: 1, count: 8)), count: 500).joined())
            for _ in 0..<200 where !peer.connection.send(pings) { return }
            peer.connection.send(HTTP2Peer.answer(stream, "x"))
        },
        Act("a SETTINGS flood, then the answer", "200", "connectionLost") { peer, stream in
            let flood = Array([[UInt8]](repeating: HTTP2Peer.settings([(4, 65_535)]), count: 500).joined())
            for _ in 0..<100 where !peer.connection.send(flood) { return }
            peer.connection.send(HTTP2Peer.answer(stream, "x"))
        },
        Act("empty DATA without an end", "truncatedBody", "connectionLost", "idleTimeout", "totalTimeout") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok)
            let flood = Array([[UInt8]](repeating: HTTP2Peer.bytes(.data, 0, stream), count: 500).joined())
            for _ in 0..<100 where !peer.connection.send(flood) { return }
        },
        Act("20,000 fields in one block", "headersTooLarge", "connectionLost", "badResponse") { peer, stream in
            var block = HTTP2Peer.ok
            // Once literally into the table, then one byte for each.
            block += [0x40] + Array(HTTP2Peer.field("x-flood", String(repeating: "x", count: 60)).dropFirst())
            peer.connection.send(HTTP2Peer.bytes(.headers, 0, stream, block))
            for _ in 0..<2 { peer.send(.continuation, 0, stream, [UInt8](repeating: 0xBE, count: 10_000)) }
            peer.send(.continuation, head | last, stream)
        },
        Act("CONTINUATION without an end", "headersTooLarge", "connectionLost", "badResponse") { peer, stream in
            peer.connection.send(HTTP2Peer.bytes(.headers, 0, stream, HTTP2Peer.ok))
            let block = HTTP2Peer.bytes(.continuation, 0, stream, HTTP2Peer.field("x", String(repeating: "x", count: 8_000)))
            for _ in 0..<20_000 where !peer.connection.send(block) { return }
        },
        Act("empty CONTINUATION without an end", "headersTooLarge", "connectionLost", "badResponse", "firstByteTimeout") { peer, stream in
            peer.connection.send(HTTP2Peer.bytes(.headers, 0, stream, HTTP2Peer.ok))
            let block = Array([[UInt8]](repeating: HTTP2Peer.bytes(.continuation, 0, stream), count: 1_000).joined())
            for _ in 0..<100 where !peer.connection.send(block) { return }
        },
        Act("a field of 1 MiB", "headersTooLarge", "connectionLost", "badResponse") { peer, stream in
            let block = HTTP2Peer.ok + HTTP2Peer.field("x", String(repeating: "x", count: 1 << 20))
            peer.connection.send(HTTP2Peer.bytes(.headers, 0, stream, Array(block.prefix(16_000))))
            for start in stride(from: 16_000, to: block.count, by: 16_000) {
                let end = min(start + 16_000, block.count)
                guard peer.send(.continuation, end == block.count ? head | last : 0, stream, Array(block[start..<end])) else { return }
            }
        },
        Act("interim heads without an end", "headersTooLarge", "connectionLost", "badResponse") { peer, stream in
            let interim = HTTP2Peer.bytes(.headers, head, stream, HTTP2Peer.field(":status", "103") + HTTP2Peer.field("link", "</x>"))
            for _ in 0..<50_000 where !peer.connection.send(interim) { return }
        },
        // nghttp2 1.52 ends the connection without an error for the stream, and libcurl takes that for the end.
        Act("a frame larger than agreed", "200", "connectionLost", "truncatedBody", "badResponse") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok)
            peer.send(.data, last, stream, [UInt8](repeating: 7, count: 1 << 20))
        },
        Act("DATA before the head", "connectionLost", "truncatedBody", "badResponse", "firstByteTimeout") { peer, stream in
            peer.send(.data, last, stream, [1])
        },
        Act("DATA on stream 0", "connectionLost", "truncatedBody", "badResponse") { peer, _ in peer.send(.data, last, 0, [1]) },
        Act("a head on a stream nobody opened", "connectionLost", "badResponse") { peer, stream in
            peer.send(.headers, head, stream + 2, HTTP2Peer.ok)
        },
        Act("a promise", "connectionLost", "badResponse") { peer, stream in
            peer.send(.push, head, stream, HTTP2Peer.number(2) + HTTP2Peer.ok)
        },
        Act("no status", "connectionLost", "badResponse") { $0.send(.headers, head | last, $1, HTTP2Peer.field("x", "1")) },
        Act("a status that is no number", "connectionLost", "badResponse") {
            $0.send(.headers, head | last, $1, HTTP2Peer.field(":status", "abc"))
        },
        Act("upper case in a name", "connectionLost", "badResponse") {
            $0.send(.headers, head | last, $1, HTTP2Peer.ok + HTTP2Peer.field("X-Upper", "1"))
        },
        Act("a line end in a value", "connectionLost", "badResponse") {
            $0.send(.headers, head | last, $1, HTTP2Peer.ok + HTTP2Peer.field("x", "a\r\ninjected: 1"))
        },
        Act("a Transfer-Encoding", "connectionLost", "badResponse") {
            $0.send(.headers, head | last, $1, HTTP2Peer.ok + HTTP2Peer.field("transfer-encoding", "chunked"))
        },
        Act("less than the Content-Length", "connectionLost", "truncatedBody", "badResponse") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok + HTTP2Peer.field("content-length", "5"))
            peer.send(.data, last, stream, [1])
        },
        Act("more than the Content-Length", "connectionLost", "truncatedBody", "badResponse") { peer, stream in
            peer.send(.headers, head, stream, HTTP2Peer.ok + HTTP2Peer.field("content-length", "1"))
            peer.send(.data, last, stream, [1, 2, 3])
        },
        Act("an index beyond the table", "connectionLost", "badResponse") { $0.send(.headers, head | last, $1, [0xFF, 0xFF, 0xFF, 0x7F]) },
        Act("a window that overflows", "connectionLost", "badResponse", "firstByteTimeout") { peer, _ in
            for _ in 0..<3 { peer.send(.windowUpdate, 0, 0, HTTP2Peer.number(0x7FFF_FFFF)) }
        },
        Act("HTTP/1.1 in its place", "connectionLost", "badResponse") { peer, _ in
            peer.connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        },
        Act("noise", "connectionLost", "badResponse") { peer, _ in peer.connection.send([UInt8](repeating: 0xFF, count: 100_000)) },
    ]

    @Test(arguments: acts)
    func act(_ act: Act) async throws {
        try await meet(act.play) { server, session, _ in
            let outcome = await get(server, session).outcome()
            #expect(act.expected.contains(word(outcome)), "\((try? outcome.get().body.count) ?? -1) bytes, \(outcome)")
            #expect(server.accepted <= 3, "it was asked again and again")
        }
    }

    /// libcurl 8 says GOAWAY to what breaks HTTP/2 and waits for the server to close; where it never does, the clocks hold.
    @Test func aServerThatStaysAfterAGoAway() async throws {
        try await withRawServer(
            { connection, _ in
                let peer = HTTP2Peer(connection: connection)
                peer.greet()
                while peer.nextRequest(staysAfterGoAway: true) != nil { connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx") }
            }, configure: configure
        ) { server, session in
            let outcome = await get(server, session).outcome()
            #expect(["connectionLost", "badResponse", "firstByteTimeout"].contains(word(outcome)), "\(outcome)")
            #expect(server.accepted <= 3, "it was asked again and again")
        }
    }

    @Test(arguments: 0..<14)
    func resetAtEachStage(_ code: UInt32) async throws {
        for stage in 0..<3 {
            try await meet({ peer, stream in
                if stage > 0 { peer.send(.headers, Self.head, stream, HTTP2Peer.ok) }
                if stage > 1 { peer.send(.data, 0, stream, [1, 2, 3]) }
                peer.send(.reset, 0, stream, HTTP2Peer.number(code))
            }) { server, session, _ in
                let outcome = await get(server, session).outcome()
                // libcurl takes NO_ERROR behind the head for the end, as some servers mean it (RFC 9113 section 8.1), and does not say so.
                let isTakenForTheEnd = code == 0 && stage > 0 && word(outcome) == "200"
                #expect(Self.lost.contains(word(outcome)) || isTakenForTheEnd, "stage \(stage), code \(code): \(outcome)")
                #expect(server.accepted <= 3)
            }
        }
    }

    @Test func cutAtEveryByte() async throws {
        let answer =
            HTTP2Peer.settings([(3, 100)]) + HTTP2Peer.bytes(.settings, HTTP2Peer.acknowledgement)
            + HTTP2Peer.bytes(.headers, Self.head, 1, HTTP2Peer.ok + HTTP2Peer.field("content-length", "4"))
            + HTTP2Peer.bytes(.data, 0, 1, [1, 2]) + HTTP2Peer.bytes(.data, Self.last, 1, [3, 4])
        for cut in 0...answer.count {
            let accepted = Lock(0)
            try await withRawServer(
                { connection, _ in
                    accepted.withLock { $0 += 1 }
                    guard connection.read(24) != nil else { return }
                    // Not before the request is there: a connection that dies unused may be replaced without a word.
                    let peer = HTTP2Peer(connection: connection)
                    while let frame = peer.nextFrame(), frame.kind != HTTP2Peer.Kind.headers.rawValue {}
                    connection.send(Array(answer[..<cut]))
                }, configure: configure
            ) { server, session in
                let outcome = await get(server, session).outcome()
                if cut == answer.count {
                    #expect((try? outcome.get().body) == Data([1, 2, 3, 4]), "\(outcome)")
                } else {
                    #expect(Self.lost.contains(word(outcome)), "cut at \(cut): \(outcome)")
                }
                #expect(server.accepted <= 2, "cut at \(cut)")
            }
        }
    }

    // MARK: Flow control

    /// A window that never opens: one of the clocks ends it, and the processor is left alone meanwhile.
    @Test(arguments: [1_000, 1 << 20])
    func aWindowOfZero(_ size: Int) async throws {
        try await meet({ _, _ in }, settings: [(4, 0)]) { server, session, _ in
            let request = session.request("http://127.0.0.1:\(server.port)/", method: .post, body: .data(bytes(size))).options {
                $0.httpVersion = .http2PriorKnowledge
            }
            let outcome = await request.outcome()
            #expect(["idleTimeout", "firstByteTimeout"].contains(word(outcome)), "\(outcome)")
        }
    }

    /// The reader does not read, and the server goes on sending: it is stopped, and the total clock runs on.
    @Test func moreThanASuspendedReaderTakes() async throws {
        let (heads, seen) = AsyncStream.makeStream(of: Void.self)
        let sent = Lock(0)
        try await meet({ peer, stream in
            peer.send(.headers, Self.head, stream, HTTP2Peer.ok)
            let piece = HTTP2Peer.bytes(.data, 0, stream, [UInt8](repeating: 7, count: 16_384))
            for _ in 0..<16_384 where peer.connection.send(piece) { sent.withLock { $0 += 16_384 } }
        }) { server, session, _ in
            let request = get(server, session).options {
                $0.limits.bodyBytes = 1 << 30
                $0.timeouts.total = .seconds(3)
            }.onResponseHead { _ in seen.yield() }
            let run = request.start()
            for await _ in heads { break }
            run.suspend()
            // Before that it goes as fast as it goes, for as long as this test waits for a thread.
            let before = sent.withLock { $0 }
            await session.agent.waitUntilIdle()
            guard case .failure(let error) = request.result else { throw UnexpectedSuccess() }
            #expect(["totalTimeout", "truncatedBody", "connectionLost"].contains(error.code.description), "\(error)")
            #expect(sent.withLock { $0 } - before < 128 << 20)
        }
    }

    // MARK: Many at once

    /// The server takes back what it allowed, while sixteen are on their way.
    @Test(arguments: [1, 0])
    func fewerStreamsThanBefore(_ limit: UInt32) async throws {
        try await meet({ peer, stream in
            if stream == 1 { peer.connection.send(HTTP2Peer.settings([(3, limit)])) }
            peer.connection.send(HTTP2Peer.answer(stream, "x"))
        }) { server, session, _ in
            let requests = (0..<16).map { _ in get(server, session) }
            await withTaskGroup(of: String.self) { group in
                for request in requests { group.addTask { word(await request.outcome()) } }
                for await word in group {
                    #expect(["200", "connectionLost", "firstByteTimeout", "totalTimeout", "connectTimeout"].contains(word))
                    if limit == 1 { #expect(word == "200") }
                }
            }
        }
    }

    /// GOAWAY while sixteen wait: those it names are answered, the others go elsewhere or end.
    @Test func goAwayWhileManyWait() async throws {
        try await meet({ peer, stream in
            peer.connection.send(HTTP2Peer.answer(stream, "x"))
            if stream == 5 { peer.send(.goAway, 0, 0, HTTP2Peer.number(5) + HTTP2Peer.number(0)) }
        }) { server, session, _ in
            let requests = (0..<16).map { _ in get(server, session) }
            await withTaskGroup(of: String.self) { group in
                for request in requests { group.addTask { word(await request.outcome()) } }
                for await word in group { #expect(["200", "connectionLost"].contains(word)) }
            }
        }
    }

    /// Over TLS, where all share one connection: a server that allows one stream at a time.
    @Test func oneStreamAtATime() async throws {
        let authority = try TestAuthority()
        var configuration = try LoopbackServer.Configuration.tls(authority, [.http2])
        configuration.maxConcurrentStreams = 1
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/*", .ok("x"))
            let requests = (0..<16).map { wire.get("/\($0)") { $0.timeouts.total = .seconds(20) } }
            await withTaskGroup(of: String.self) { group in
                for request in requests { group.addTask { word(await request.outcome()) } }
                for await word in group { #expect(word == "200") }
            }
            #expect(wire.server.requests.count == 16)
        }
    }
}
