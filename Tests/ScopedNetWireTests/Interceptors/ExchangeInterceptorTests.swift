import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// Interceptors around each exchange: ``RequestOptions/Interceptors/exchange``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct ExchangeInterceptorTests {
    @Test func eachAttemptRedirectAndChallengePassesThem() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1))
            $0.options.authentication = .credential(.basic(user: "ann", password: "pw"))
            $0.cookies = CookieJar()
        } _: { wire async throws in
            wire.server.enqueue(.status(401).header("WWW-Authenticate", "Basic realm=\"x\""))
            wire.server.enqueue(.status(503))
            wire.server.enqueue(.redirect(to: "/there").header("Set-Cookie", "a=1"))
            wire.server.on("/there", .ok("there"))
            let log = Gathered<String>()
            let value = try await wire.get().interceptors(exchange: [
                Intercepting { request, context, next in
                    #expect(context.place == .exchange)
                    let fields = request.headers
                    log.add("\(context.attempt) \(context.redirects) \(fields["Cookie"] ?? "-") \(fields["Authorization"] != nil)")
                    var request = request
                    request.headers["X-Attempt"] = "\(log.all.count)"
                    return try await next(request)
                }
            ]).value()
            #expect(value == Data("there".utf8))
            #expect(wire.server.requests.compactMap { $0.headers["X-Attempt"] } == (1...wire.server.requests.count).map { "\($0)" })
            // The first one, the answer to the challenge, the second attempt, and the redirect.
            #expect(log.all == ["1 0 - false", "1 0 - true", "2 0 - true", "2 1 a=1 true"] && wire.server.requests.count == 4)
        }
    }

    /// A signature over what they see is true of what the server gets.
    @Test func nothingIsAddedBehindTheLast() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            let seen = Gathered<[String: String]>()
            let spy = Intercepting { request, _, next in
                seen.add(Dictionary(request.headers.fields.map { ($0.name.canonicalName, $0.value) }) { $0 + ", " + $1 })
                return try await next(request)
            }
            _ = try await wire.get().interceptors(exchange: [spy]).value()
            _ = try await wire.session.post(wire.url + "/", json: ["n": 1]).interceptors(exchange: [spy]).value()
            _ = try await wire.session.delete(wire.url + "/").interceptors(exchange: [spy]).value()
            for (shown, got) in zip(seen.all, wire.server.requests) {
                let sent = Dictionary(got.headers.map { ($0.name.lowercased(), $0.value) }) { $0 + ", " + $1 }
                #expect(sent == shown, "\(got.method)")
            }
            #expect(wire.server.requests.map(\.method) == ["GET", "POST", "DELETE"] && seen.all.count == 3)
            #expect(seen.all[1]["content-length"] == "7" && seen.all[1]["host"] == "127.0.0.1:\(wire.server.port)")
        }
    }

    /// Their changes are no part of the key, and not of the next exchange.
    @Test func theirChangesHoldForOneExchange() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            wire.server.on("/a", .ok("a").header("Cache-Control", "max-age=100").header("Vary", "X-Nonce"))
            wire.server.on("/r", .redirect(to: "/b"))
            wire.server.on("/b", .ok("b"))
            let count = Gathered<Void>()
            let nonce = Intercepting { request, _, next in
                count.add(())
                #expect(request.headers["X-Nonce"] == nil && !request.url.contains("?"))
                var request = request
                request.headers["X-Nonce"] = "\(count.all.count)"
                request.url += "?signed=\(count.all.count)"
                return try await next(request)
            }
            let first = try await wire.get("/a").interceptors(exchange: [nonce]).response()
            let second = try await wire.get("/a").interceptors(exchange: [nonce]).response()
            #expect(first.source == .network && second.source == .cache && first.url.hasSuffix("/a?signed=1"))
            let third = try await wire.get("/r").interceptors(exchange: [nonce]).value()
            #expect(third == Data("b".utf8))
            #expect(wire.server.requests.map(\.target) == ["/a?signed=1", "/r?signed=2", "/b?signed=3"])
            #expect(wire.server.requests.compactMap { $0.headers["X-Nonce"] } == ["1", "2", "3"])
        }
    }

    @Test func anAnswerTakesThePlaceOfTheServers() async throws {
        try await withCache { cached async throws in
            let wire = cached.wire
            let answering = Intercepting { _, _, _ in
                InterceptedResponse(status: 200, headers: [.cacheControl: "max-age=100"], body: Data("made".utf8))
            }
            for _ in 0..<2 {
                let response = try await wire.get().interceptors(exchange: [answering]).response()
                #expect(response.source == .interceptor && response.value == Data("made".utf8))
            }
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func nextMayBeCalledAgain() async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(429))
            wire.server.enqueue(.status(429))
            wire.server.on("/", .ok("there"))
            let response = try await wire.get().interceptors(exchange: [
                Intercepting { request, _, next in
                    var response = try await next(request)
                    while response.head.status == 429 { response = try await next(request) }
                    return response
                }
            ]).response()
            #expect(response.value == Data("there".utf8) && wire.server.requests.count == 3)
        }
    }

    /// A body that can be read once: `next` says so, and the interceptor has the first response still.
    @Test func aRefusedRepetitionLeavesTheFirstResponse() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(503))
            let refusals = Gathered<NetworkError.Code>()
            let stubborn = Intercepting { request, _, next in
                let first = try await next(request)
                for _ in 0..<3 {
                    do { return try await next(request) } catch let error as NetworkError { refusals.add(error.code) }
                }
                return first
            }
            for place in 0..<2 {
                let body = AsyncStream {
                    $0.yield(Data("x".utf8)); $0.finish()
                }
                let response = try await wire.session.upload(wire.url + "/", from: body).validate(.any)
                    .interceptors(call: place == 0 ? [stubborn] : [], exchange: place == 1 ? [stubborn] : []).response()
                #expect(response.status == 503)
            }
            #expect(refusals.all == [NetworkError.Code](repeating: .bodyNotReplayable, count: 6) && wire.server.requests.count == 2)
        }
    }

    /// A URL that is none: `next` says so, and another one may be tried.
    @Test func aRequestThatCannotBeSentIsRefusedByNext() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("there"))
            let codes = Gathered<NetworkError.Code>()
            let trying = Intercepting { request, _, next in
                for url in ["ftp://127.0.0.1/", "http://", "http://a b/"] {
                    var bad = request
                    bad.url = url
                    do { return try await next(bad) } catch let error as NetworkError { codes.add(error.code) }
                }
                return try await next(request)
            }
            #expect(try await wire.get().interceptors(exchange: [trying]).value() == Data("there".utf8))
            #expect(try await wire.get().interceptors(call: [trying]).value() == Data("there".utf8))
            #expect(codes.all == [.unsupportedScheme, .invalidURL, .invalidURL, .unsupportedScheme, .invalidURL, .invalidURL])
        }
    }

    /// A retry policy of the request still rules what they throw.
    @Test func theErrorOfAnExchangeIsTheirsToChange() async throws {
        struct Odd: Error {}
        try await withWire { wire async throws in
            wire.server.enqueue(ScriptedResponse.ok("never").ending(.reset(afterBytes: 2)))
            wire.server.on("/", .ok("there"))
            let value = try await wire.get().interceptors(exchange: [
                Intercepting { request, _, next in
                    do { return try await next(request) } catch let error as NetworkError {
                        #expect(error.code == .connectionLost || error.code == .truncatedBody)
                        return InterceptedResponse(status: 200, body: Data("saved".utf8))
                    }
                }
            ]).value()
            #expect(value == Data("saved".utf8))
            let thrown = try await wire.get().interceptors(exchange: [
                Intercepting { request, _, next in
                    _ = try await next(request)
                    throw Odd()
                }
            ]).failure()
            #expect(thrown.code == .interceptorFailed && thrown.underlying is Odd && thrown.status == 200)
        }
    }

    @Test func streamsAndDownloadsPassThrough() async throws {
        try await withWire { wire async throws in
            let text = String(repeating: "0123456789", count: 30_000)
            wire.server.on("/", .ok(text))
            let bodies = Gathered<String>()
            let spy = Intercepting { request, _, next in
                let response = try await next(request)
                switch response.body {
                case .data(let data): bodies.add("data \(data.count)")
                case .file(let bytes): bodies.add("file \(bytes)")
                case .stream: bodies.add("stream")
                }
                return response
            }
            var session = wire.session
            session = session.with { $0.options.interceptors.exchange = [spy] }
            var count = 0
            for try await piece in try await session.stream(wire.url + "/").bytes { count += piece.count }
            let folder = TemporaryFolder()
            let file = URL(filePath: folder.path + "/file")
            // More than memory may take.
            _ = try await session.download(wire.url + "/", to: file).options { $0.limits.bodyBytes = 1_000 }.value()
            #expect(count == 300_000 && folder.contents(of: "file")?.count == 300_000)
            #expect(bodies.all == ["stream", "file 300000"])
        }
    }

    /// The reader has the beginning while the server holds the rest back.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func aStreamIsReadWhileItArrives(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse.ok("0123456789abcdef").stalling(.afterBytes(10)))
            let pass = Intercepting { request, _, next in try await next(request) }
            let session = wire.session.with {
                $0.options.interceptors = place == .call ? .init(call: [pass]) : .init(exchange: [pass])
            }
            var (text, isHeld) = (Data(), true)
            for try await piece in try await session.stream(wire.url + "/").bytes {
                text += piece
                guard isHeld, text.count == 10 else { continue }
                isHeld = false
                wire.server.releaseStalls()
            }
            #expect(text == Data("0123456789abcdef".utf8) && !isHeld)
        }
    }

    /// A sequence is asked for its first piece behind them, and a file is opened there.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func uploadsPassThrough(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let (bodies, pieces) = (Gathered<String>(), Gathered<Int>())
            let spy = Intercepting { request, _, next in
                switch request.body?.content {
                case .file(let path): bodies.add("file \(URL(filePath: path).lastPathComponent)")
                case .stream: bodies.add("stream \(pieces.all.count)")
                case .data, nil: bodies.add("in memory")
                }
                #expect(request.bodyBytes == nil)
                return try await next(request)
            }
            func send(_ upload: Request<Data>) async throws {
                _ = try await upload.interceptors(call: place == .call ? [spy] : [], exchange: place == .exchange ? [spy] : []).value()
            }
            let text = String(repeating: "0123456789", count: 30_000)
            let body = AsyncStream<Data> {
                pieces.add(pieces.all.count)
                return pieces.all.count > 3 ? nil : Data(text.utf8)
            }
            try await send(wire.session.upload(wire.url + "/", from: body))
            let folder = TemporaryFolder()
            try await send(wire.session.upload(wire.url + "/", from: URL(filePath: folder.write(text, to: "file"))))
            #expect(bodies.all == ["stream 0", "file file"])
            #expect(wire.server.requests.map(\.body.count) == [900_000, 300_000] && wire.server.requests.last?.text == text)
        }
    }

    private static func unstopped(_ calls: Int = .max) -> Intercepting {
        Intercepting { request, _, next in
            for _ in 1..<calls { _ = try await next(request) }
            return try await next(request)
        }
    }

    /// Five repetitions at first, as for the policy's own (`RetryBudgetTests`); the policy repeats no 404.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func repetitionsTakeFromTheRetryBudget(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2)
            $0.use(ManualClock())
        } _: { wire async throws in
            wire.server.on("/", .status(404))
            let endless = Self.unstopped()
            let error = try await wire.get()
                .interceptors(call: place == .call ? [endless] : [], exchange: place == .exchange ? [endless] : []).failure()
            #expect(error.code == .interceptorFailed && error.message.contains("the retry budget of 127.0.0.1 is spent"), "\(error)")
            #expect(wire.server.requests.count == 6)
        }
    }

    /// No policy repeats anything, and there is no budget.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func withoutARetryPolicyNothingIsTakenFromTheBudget(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 1)
            $0.use(ManualClock())
        } _: { wire async throws in
            wire.server.on("/", .ok())
            let twenty = Self.unstopped(20)
            _ = try await wire.get()
                .interceptors(call: place == .call ? [twenty] : [], exchange: place == .exchange ? [twenty] : []).value()
            #expect(wire.server.requests.count == 20)
        }
    }
}
