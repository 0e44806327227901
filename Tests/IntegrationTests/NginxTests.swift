import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// HTTP/1.1 as nginx speaks it.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.http != nil, Servers.whyNoNginx), .timeLimit(.minutes(3)))
struct NginxTests {
    private struct Post: Decodable, Sendable, Equatable {
        var id: Int
        var title: String
    }

    private let session = Servers.session()
    private func url(_ path: String) -> String { Servers.nginxURL + path }

    @Test func aFeedIsDecoded() async throws {
        let response = try await session.get(url("/feed.json"), as: [Post].self).response()
        #expect(response.value.count == 2000)
        #expect(response.value.last == Post(id: 1999, title: "post 1999"))
        #expect(response.head["server"]?.hasPrefix("nginx") == true)
    }

    @Test func compressionIsUndoneAndWasUsed() async throws {
        let response = try await session.request(url("/feed.json")).response()
        let expected = try Servers.file("www/feed.json")
        #expect(response.body == expected)
        #expect(response.metrics.bodyBytesReceived < expected.count / 2)
        let evidence = try await Evidence.first(session) { $0.path == "/feed.json" && $0.coding == "gzip" }
        // nginx counts the chunked framing too.
        #expect((0..<64).contains(evidence.bytes - Int(response.metrics.bodyBytesReceived)))
        let plain = try await session.request(url("/feed.json")).options { $0.acceptsCompression = false }.response()
        #expect(plain.body == expected)
        #expect(plain.metrics.bodyBytesReceived == expected.count)
    }

    @Test func oneConnectionServesAWholeSequence() async throws {
        var connections: Set<String> = []
        for _ in 0..<200 {
            let response = try await session.request(url("/empty")).response()
            #expect(response.status == 204)
            connections.insert(response.head["x-connection"] ?? "none")
        }
        #expect(connections.count == 1)
    }

    /// nginx closes after five requests, or after each: requests in a row and at once are none the worse.
    @Test(arguments: ["/short-lived/feed.json", "/closing/feed.json"])
    func connectionsThatEndAreReplaced(_ path: String) async throws {
        for _ in 0..<30 { #expect(try await session.request(url(path)).response().status == 200) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { [session] in try await session.request(url(path)).response().status } }
            for try await status in group { #expect(status == 200) }
        }
    }

    @Test func rangesAndConditions() async throws {
        let part = try await session.request(url("/100M.bin"), headers: [.range: "bytes=1048576-1048675"]).response()
        #expect(part.status == 206)
        #expect(part.head["content-range"] == "bytes 1048576-1048675/104857600")
        #expect(part.body == (try Servers.file("www/100M.bin"))[1_048_576..<1_048_676])
        let etag = try #require(part.head["etag"])
        let unchanged = try await session.request(url("/100M.bin"), headers: [.ifNoneMatch: etag]).options { $0.validation = .any }
            .response()
        #expect(unchanged.status == 304)
        #expect(unchanged.body.isEmpty)
        let beyond = try await session.request(url("/100M.bin"), headers: [.range: "bytes=999999999-"]).failure()
        #expect(beyond.response?.status == 416)
    }

    @Test func aHundredMebibytesReachAFile() async throws {
        let folder = try Folder()
        let response = try await session.download(url("/100M.bin"), to: folder.file("got")).response()
        #expect(response.metrics.bodyBytesReceived == 100 << 20)
        #expect(FileManager.default.contentsEqual(atPath: folder.file("got").path, andPath: Servers.folder + "/www/100M.bin"))
    }

    @Test func aHundredMebibytesStreamThroughAWindow() async throws {
        let response = try await session.stream(url("/100M.bin"), window: 256 << 10)
        var count = 0
        var matches = true
        for try await piece in response.bytes {
            for (index, byte) in zip(count..., piece.prefix(3)) where index % (1 << 20) != 0 {
                matches = matches && byte == UInt8((index % (1 << 20)) * 31 % 251)
            }
            count += piece.count
        }
        #expect(count == 100 << 20)
        #expect(matches)
    }

    @Test func uploadsArriveWhole() async throws {
        let big = (0..<(20 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 11) }
        let folder = try Folder()
        try Data(big).write(to: folder.file("big"))
        let pieces = AsyncStream<Data> { continuation in
            for start in stride(from: 0, to: big.count, by: 100_000) {
                continuation.yield(Data(big[start..<min(start + 100_000, big.count)]))
            }
            continuation.finish()
        }
        let bodies: [(String, RequestBody)] = [
            ("data", .data(Data(big))), ("file", .file(folder.file("big").path)), ("stream", .stream(pieces)),
        ]
        for (name, body) in bodies {
            let response = try await session.request(url("/up/\(name)"), method: .put, body: body).response()
            #expect([201, 204].contains(response.status), "\(name)")
            #expect(try Servers.file("up/\(name)") == Data(big), "\(name)")
        }
    }

    @Test func limitsOfTheServerAreErrorsWithItsWord() async throws {
        let tooLarge = try await session.request(url("/small-bodies/x"), method: .put, body: .data(Data(count: 2_000))).failure()
        #expect(tooLarge.code == .unacceptableStatus)
        #expect(tooLarge.response?.status == 413)
        let missing = try await session.request(url("/nothing-here")).failure()
        #expect(missing.response?.status == 404)
        #expect(String(decoding: missing.body ?? Data(), as: UTF8.self).contains("no such page"))
        let locked = try await session.request(url("/private/feed.json")).failure()
        #expect(locked.response?.status == 401)
        #expect(locked.response?["www-authenticate"] == #"Basic realm="private""#)
        let open = try await session.request(url("/private/feed.json"), headers: [.authorization: "Basic YWxpY2U6d29uZGVybGFuZA=="])
            .response()
        #expect(open.status == 200)
    }

    /// nginx lets two through in a second and asks the others to come back.
    @Test func whoIsAskedToWaitWaits() async throws {
        _ = try? await session.request(url("/few/feed.json")).response()
        let request = session.request(url("/few/feed.json")).options { $0.retry = RetryPolicy(maxAttempts: 5) }
        let response = try await request.response()
        #expect(response.status == 200)
        #expect(response.attempts.count > 1)
    }

    @Test func redirectsAreFollowedAndSecretsStayBehind() async throws {
        let response = try await session.request(url("/moved/feed.json")).response()
        #expect(response.status == 200)
        #expect(response.url == url("/feed.json"))
        let kept = try await session.request(url("/away")).options { $0.redirects.mode = .never }.failure()
        #expect(kept.response?.status == 307)
    }

    @Test func aClosingBagIsSeenAsAnEarlyLeave() async throws {
        do {
            let bag = DeallocBag(label: "page")
            let (heads, head) = AsyncStream.makeStream(of: Void.self)
            for number in 0..<4 {
                session.request(url("/slow/100M.bin?\(number)")).onResponseHead { _ in head.yield() }.start(in: bag)
            }
            var count = 0
            for await _ in heads {
                count += 1
                if count == 4 { break }
            }
        }
        await session.agent.waitUntilIdle()
        let evidence = try await Evidence.first(session) { $0.path == "/slow/100M.bin" }
        #expect(evidence.bytes < 10 << 20)
    }

    @Test func theClockOfTheWholeRequestStopsASlowServer() async throws {
        let error = try await session.request(url("/slow/100M.bin")).options { $0.timeouts.total = .milliseconds(300) }.failure()
        #expect(error.code == .totalTimeout)
        #expect(error.isTimeout)
    }

    @Test func aUnixSocketReachesIt() async throws {
        let local = session.with { $0.connection.unixSocketPath = Servers.folder + "/nginx.sock" }
        let response = try await local.request("http://anything/feed.json").response()
        #expect(response.body == (try Servers.file("www/feed.json")))
    }

    /// Three connections at most, whatever is asked at once.
    @Test func theLimitOfConnectionsHolds() async throws {
        let narrow = session.with { $0.limits.perHost = 3 }
        let connections = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<60 { group.addTask { try await narrow.request(url("/feed.json")).response().head["x-connection"] ?? "none" } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(connections.count <= 3)
    }
}
