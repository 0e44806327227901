import CleanSlate
import FoundationEssentials
import HTTPTypes
import Testing

@testable import ScopedNet

/// What is read from the bytes of a head is what the rules make of its fields.
@Suite(.leavesNothing) struct PlainReplyTests {
    private static let now = WallTime(secondsSince1970: 1_800_000_000.25)

    /// Lines that a head is put together from, ordinary ones and others.
    private static let lines: [[String]] = [
        [
            "", "Cache-Control: max-age=600", "cache-control: public,max-age=60 ,  immutable", "Cache-Control: no-store",
            "Cache-Control: private, max-age=0, must-revalidate", "Cache-Control: max-age=600, stale-while-revalidate=30",
            "Cache-Control: no-cache", "Cache-Control: no-cache=\"set-cookie\"", "Cache-Control: max-age=\"5\"",
            "Cache-Control: max-age= 5",
            "Cache-Control: max-age=5;", "Cache-Control: max-age", "Cache-Control: MAX-AGE=7, max-age=99999999999999999999",
            "Cache-Control: must-understand, no-store, max-age=9", "Cache-Control: ext=\"a,max-age=1\", max-age=3",
            "Cache-Control: ,,max-age=1,",
            "Cache-Control: public\r\nCache-Control: max-age=8", "Cache-Control: max-age=-1", "Cache-Control: max-age=1.5",
            "Cache-Control: =1",
            "Cache-Control: no-cache=1", "Cache-Control: stale-if-error=10, s-maxage=5",
        ],
        [
            "", "Date: Fri, 15 Jan 2027 08:00:00 GMT", "Date: Fri, 15 Jan 2027 08:00:00 UTC", "Date: fri, 15 jan 2027 08:00:00 gmt",
            "Date: Friday, 15-Jan-27 08:00:00 GMT", "Date: Fri Jan 15 07:59:59 2027", "Date: nonsense",
            "Date: Fri, 31 Feb 2027 08:00:00 GMT",
            "Date: Fri, 15 Jan 2027 08:00:00 GMT\r\nDate: Fri, 15 Jan 2027 08:00:01 GMT", "Date: Fri, 15 Jan 2027 24:00:00 GMT",
            "Date: Fri, 15 Jan 2027 07:59:60 GMT",
        ],
        [
            "", "Expires: Fri, 15 Jan 2027 09:00:00 GMT", "Expires: 0", "Expires: Fri, 15 Jan 2027 09:00:00 GMT\r\nExpires: 0",
            "Expires: Fri, 15 Jan 2027 07:00:00 GMT",
        ],
        ["", "Age: 5", "Age: x", "Age: 5, 6", "Age: 007", "Age: 5\r\nAge: 9", "Age: 99999999999999999999"],
        [
            "", "ETag: \"a\"", "ETag: W/\"a\"", "ETag: a", "ETag: \"a\"\r\nETag: \"b\"", "ETag: \"\u{E4}\"",
            "Last-Modified: Fri, 01 Jan 2027 08:00:00 GMT", "Last-Modified: yesterday",
            "ETag: \"b\"\r\nLast-Modified: Fri, 15 Jan 2027 08:00:00 GMT",
        ],
        ["", "Vary: *", "Vary: Accept-Encoding", "Vary: Cookie, accept", "Vary: a b", "Vary: Accept\r\nVary: Cookie"],
        [
            "", "Connection: close", "Connection: Keep-Alive", "Connection: X-Hop", "Connection: close\r\nClose: 1",
            "Keep-Alive: timeout=5\r\nTE: x\r\nUpgrade: h2c\r\nProxy-Connection: x\r\nProxy-Authenticate: Basic",
        ],
        [
            "", "Content-Length: 5", "Content-Length: 0005", "Content-Length: 5, 5", "Content-Length: 4",
            "Content-Length: 5\r\nContent-Length: 5",
        ],
        ["X-Hop: 1\r\nServer: test\r\nContent-Type: text/html; charset=utf-8", "Set-Cookie: a=b\r\nX-Empty:\r\nX-Hop: 2"],
    ]

    private func head(_ status: Int, _ lines: [String]) throws -> ResponseHead {
        var parser = ResponseHeadParser()
        let text = "HTTP/1.1 \(status) Some Reason\r\n" + lines.filter { !$0.isEmpty }.map { $0 + "\r\n" }.joined() + "\r\n"
        _ = try parser.receive(Array(text.utf8))
        return ResponseHead(parser)
    }

    private func forward(_ policy: CachePolicy) throws -> CacheForward {
        let strategy = CacheStrategy(policy: policy) { "hash of \($0.count)" }
        let request = CacheRequest(
            url: "http://example.test/a", fields: [.acceptEncoding: "br, gzip", .cookie: "c=1", HTTPField.Name("A")!: "1"])
        guard case .forward(let forward) = strategy.decide(request, candidates: [], now: Self.now) else {
            throw NetworkError(.other, phase: .preparing, message: "no forward")
        }
        return forward
    }

    /// - Returns: whether the bytes were enough.
    private func compare(_ status: Int, _ lines: [String], _ policy: CachePolicy) throws -> Bool {
        let (head, forward, responseTime) = (try head(status, lines), try forward(policy), Self.now + 0.5)
        guard let fast = forward.received(plain: head, requestTime: Self.now, responseTime: responseTime) else { return false }
        let slow = forward.received(CacheHead(head), requestTime: Self.now, responseTime: responseTime)
        #expect(fast.status == slow.status, "\(status) \(lines)")
        #expect(slow.updates.isEmpty && slow.removals.isEmpty && slow.invalidation == nil)
        switch (fast.storage, slow.storage) {
        case (.refuse(let one), .refuse(let other)): #expect(one == other, "\(status) \(lines)")
        case (.plain(let reply), .store(let pending, [.received], [])):
            for length in [Int64(0), 5] {
                let encoded = reply.encoded(bodyLength: length, strategy: forward.strategy)
                let expected = pending.completed(bodyLength: length)?.encoded()
                #expect(encoded == expected, "\(status) \(lines)")
            }
            let (horizon, expected) = (reply.horizon(policy), pending.horizon(policy))
            #expect(horizon == expected, "\(status) \(lines)")
        default: Issue.record("\(status) \(lines): \(fast.storage) and \(slow.storage)")
        }
        return true
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func theBytesAndTheFieldsSayTheSame(_ seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var policy = CachePolicy.standard
        policy.version = seed % 2 == 0 ? "" : "2"
        if seed % 3 == 0 { policy.timeToLive = .seconds(30) }
        if seed % 4 == 1 { policy.sensitiveValue = "x" }
        if seed % 5 == 1 { policy.usesHeuristics = false }
        var read = 0
        for _ in 0..<600 {
            let status = random.pick([200, 200, 200, 200, 404, 301, 302, 500, 204, 599])
            // Most fields are absent, as in life.
            let lines = Self.lines.map { random.chance(45) ? random.pick($0) : "" }
            if try compare(status, lines, policy) { read += 1 }
        }
        // Otherwise nothing has been compared.
        #expect(read > 200)
    }

    @Test func eachLineAloneSaysTheSame() throws {
        for group in Self.lines {
            for line in group {
                for status in [200, 302] { _ = try compare(status, ["Cache-Control: max-age=5", line], .standard) }
                _ = try compare(200, [line], .standard)
            }
        }
    }

    @Test func theOrdinaryIsReadFromItsBytes() throws {
        let ordinary = [
            "Server: nginx", "Date: Fri, 15 Jan 2027 08:00:00 GMT", "Content-Type: text/html", "Content-Length: 5",
            "Connection: keep-alive",
            "ETag: \"a\"", "Last-Modified: Fri, 01 Jan 2027 08:00:00 GMT", "Cache-Control: public, max-age=600", "Vary: Accept-Encoding",
        ]
        let isRead = try compare(200, ordinary, .standard)
        #expect(isRead)
    }

    @Test(arguments: [206, 304, 412, 416]) func whatAnswersAConditionOrARangeIsLeftToTheRules(_ status: Int) throws {
        let isRead = try compare(status, ["Cache-Control: max-age=5"], .standard)
        #expect(!isRead)
    }
}
