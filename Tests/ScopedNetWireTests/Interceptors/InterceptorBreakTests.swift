import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Attacks on interceptors, each of which has succeeded once.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct InterceptorBreakTests {
    /// The first response is returned after a second exchange; its file is gone, and the body of the second must not pass for it.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func aFileOfAnEarlierExchangeIsNotThatOfTheLast(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.ok("whole"))
            wire.server.enqueue(ScriptedResponse(status: 404, body: .bytes(Array("not found".utf8))))
            let best = Intercepting { request, _, next in
                let first = try await next(request)
                let second = try await next(request)
                return second.head.status == 200 ? second : first
            }
            let folder = TemporaryFolder()
            let file = URL(filePath: folder.path + "/file")
            _ = try? await wire.session.download(wire.url + "/", to: file)
                .interceptors(call: place == .call ? [best] : [], exchange: place == .exchange ? [best] : []).value()
            // An error is fine; another content is not.
            let content = folder.contents(of: "file") ?? Data("whole".utf8)
            #expect(content == Data("whole".utf8), "\(String(decoding: content, as: UTF8.self))")
        }
    }

    /// A field on every response must not make the cache's own 304 the result.
    @Test func aChangedHeadOfARevalidationIsStillARevalidation() async throws {
        try await withCache { cached async throws in
            cached.server.enqueue(fresh("a", 1, tag: "\"1\""))
            cached.server.enqueue(ScriptedResponse.status(304).header("ETag", "\"1\""))
            let marking = Intercepting { request, _, next in
                var response = try await next(request)
                var fields = response.head.headers
                fields[HTTPField.Name("X-Seen")!] = "1"
                response.head = ResponseHead(status: response.head.status, headers: fields)
                return response
            }
            _ = try await cached.get()
            cached.clock.advance(10)
            let second = try await cached.wire.get().interceptors(exchange: [marking]).response()
            #expect(second.status == 200 && second.body == Data("a".utf8))
        }
    }

    /// The fields that the old body has added are not said of the new one.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func theCodingAndTypeOfAReplacedBodyGo(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            func replacing(_ body: RequestBody) -> (call: [any Interceptor], exchange: [any Interceptor]) {
                let interceptor = Intercepting { request, _, next in
                    var request = request
                    request.body = body
                    return try await next(request)
                }
                if place == .call { return (call: [interceptor], exchange: []) }
                return (call: [], exchange: [interceptor])
            }
            let plain = replacing(.data(Data("plain".utf8)))
            let coded = RequestBody.data(Data(repeating: 65, count: 4_000)).compressed()
            _ = try await wire.session.request(wire.url + "/", method: .post, body: coded)
                .interceptors(call: plain.call, exchange: plain.exchange).value()
            let first = try #require(wire.server.requests.first)
            #expect(first.text == "plain" && first.headers["Content-Encoding"] == nil)
            let json = replacing(.json(["a": 1]))
            _ = try await wire.session.request(wire.url + "/", method: .post, body: .form(["a": "1"]))
                .interceptors(call: json.call, exchange: json.exchange).value()
            let second = try #require(wire.server.requests.last)
            #expect(second.text == #"{"a":1}"# && second.headers["Content-Type"] == "application/json")
        }
    }

    /// The credentials that the library has put in for one origin go to no other, as with a redirect.
    @Test(arguments: [true, false])
    func theLibrarysCredentialsDoNotGoToAnotherOrigin(_ preemptive: Bool) async throws {
        try await withWire {
            $0.options.authentication = .credential(.basic(user: "ann", password: "pw"), preemptive: preemptive)
        } _: { wire async throws in
            try await withLoopbackServer { other in
                other.enqueue(ScriptedResponse.status(401).header("WWW-Authenticate", "Basic realm=\"x\""))
                other.on("/", .ok("there"))
                let target = other.url + "/"
                let moved = Intercepting { request, _, next in
                    var request = request
                    request.url = target
                    return try await next(request)
                }
                _ = try? await wire.get().interceptors(exchange: [moved]).value()
                #expect(!other.requests.isEmpty && other.requests.allSatisfy { $0.headers["Authorization"] == nil })
            }
        }
    }

    /// Around the call is outside of redirects, also where `next` was not called.
    @Test func aRedirectThatAnInterceptorOfTheCallAnswersIsTheRuns() async throws {
        try await withWire { wire async throws in
            wire.server.on("/there", .ok("there"))
            let response = try await wire.get().validate(.any).interceptors(call: [
                Intercepting { _, _, _ in InterceptedResponse(status: 302, headers: [.location: "/there"]) }
            ]).response()
            #expect(response.status == 302 && response.source == .interceptor && wire.server.requests.isEmpty)
        }
    }

    /// `RetryPolicy` judges the error that an interceptor of an exchange throws (Interceptors.md), also before `next`.
    @Test func anErrorBeforeNextIsJudgedByThePolicy() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.on("/", .ok("there"))
            let calls = Gathered<Int>()
            let flaky = Intercepting { request, context, next in
                calls.add(context.attempt)
                if context.attempt == 1 { throw NetworkError(.connectionLost, phase: .sending, message: "mine") }
                return try await next(request)
            }
            let value = try? await wire.get().interceptors(exchange: [flaky]).value()
            #expect(value == Data("there".utf8) && calls.all == [1, 2])
        }
    }

    /// And a stored response may replace it.
    @Test func anErrorBeforeNextLeavesRoomForTheCache() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", ScriptedResponse.ok("a").header("Cache-Control", "max-age=1, stale-if-error=60").header("ETag", "\"1\""))
            _ = try await cached.get()
            cached.clock.advance(10)
            let offline = Intercepting { _, _, _ in throw NetworkError(.connectionRefused, phase: .sending, message: "mine") }
            let second = try? await cached.wire.get().interceptors(exchange: [offline]).response()
            #expect(second?.source == .cache && second?.body == Data("a".utf8))
        }
    }

    /// An interceptor of the call that tries again gets no download past the claim of another.
    @Test func aTargetInUseStaysInUse() async throws {
        try await withWire { wire async throws in
            wire.server.on("/slow", ScriptedResponse.ok("slow").stalling(.afterBytes(1)))
            wire.server.on("/fast", .ok("fast"))
            let folder = TemporaryFolder()
            let file = URL(filePath: folder.path + "/file")
            let first = wire.session.download(wire.url + "/slow", to: file).start()
            try await wire.server.waitForStalls()
            let stubborn = Intercepting { request, _, next in
                do { return try await next(request) } catch { return try await next(request) }
            }
            var code: NetworkError.Code?
            do throws(NetworkError) {
                _ = try await wire.session.download(wire.url + "/fast", to: file).interceptors(call: [stubborn]).value()
            } catch { code = error.code }
            let content = folder.contents(of: "file")
            first.cancel()
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(code == .targetInUse && content == nil)
        }
    }

    /// Nothing is changed, and so it is stored (`leaveCall`: "where they leave it as it is").
    @Test func aCompressedResponseThatNobodyChangesIsStored() async throws {
        try await withCache {
            $0.options.hooks.shouldCache = { _, _ in true }
        } _: { cached async throws in
            let coded = CodedBodies.gzip(Array(String(repeating: "text ", count: 100).utf8))
            cached.server.on(
                "/", ScriptedResponse.ok(.bytes(coded)).header("Content-Encoding", "gzip").header("Cache-Control", "max-age=60"))
            cached.wire.session.onRequest { $0.headers["X-Request-ID"] = "1" }
            let first = try await cached.get()
            let second = try await cached.get()
            #expect(first.source == .network && second.source == .cache && second.body == first.body)
        }
    }

    /// A cancel is heard of, also where the run goes on for others.
    @Test func aCancelledLeaderAsksItsInterceptorsNoMore() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", fresh("shared").stalling(.afterBytes(1)))
            let log = Gathered<String>()
            let spy = Intercepting { request, _, next in
                do {
                    let response = try await next(request)
                    log.add("\(response.head.status)")
                    return response
                } catch let error as NetworkError {
                    log.add("\(error.code)")
                    throw error
                }
            }
            let leader = cached.wire.get().interceptors(call: [spy]).start()
            try await cached.server.waitForStalls()
            async let follower = cached.get()
            await cached.untilFollowed()
            leader.cancel()
            cached.server.releaseStalls()
            #expect(try await follower.body == Data("shared".utf8))
            await eventually { !log.all.isEmpty }
            #expect(log.all == ["cancelled"])
        }
    }

    /// A stream that an interceptor has filled has a reader as any other has.
    @Test func aStreamThatWasAnsweredGetsNoSecondBody() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("other"))
            let (answers, log) = (Gathered<Void>(), Gathered<String>())
            let answering = Intercepting { request, _, next in
                answers.add(())
                guard answers.all.count == 1 else { return try await next(request) }
                return InterceptedResponse(status: 200, body: Data("made".utf8))
            }
            let twice = Intercepting { request, _, next in
                let first = try await next(request)
                do {
                    _ = try await next(request)
                    log.add("sent")
                } catch let error as NetworkError { log.add("\(error.code)") }
                return first
            }
            let session = wire.session.with { $0.options.interceptors = .init(call: [twice], exchange: [answering]) }
            var text = Data()
            do { for try await piece in try await session.stream(wire.url + "/").bytes { text.append(contentsOf: piece) } } catch {
                log.add("\(error)")
            }
            // The reader is through before the interceptor is.
            await wire.agent.waitUntilIdle()
            #expect(text == Data("made".utf8))
            #expect(log.all == ["interceptorFailed"])
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// The reader of a stream gets the answer that takes the place of an error, and is not left to wait.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func theAnswerToAnErrorReachesTheReaderOfAStream(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            let fallback = Intercepting { request, _, next in
                do { return try await next(request) } catch { return InterceptedResponse(status: 200, body: Data("made".utf8)) }
            }
            let session = wire.session.with {
                $0.options.interceptors = place == .call ? .init(call: [fallback]) : .init(exchange: [fallback])
            }
            var text = Data()
            for try await piece in try await session.stream("http://127.0.0.1:1/").bytes { text.append(piece) }
            #expect(text == Data("made".utf8))
        }
    }

    /// Made without a server, in the place of an error, or of a refusal: the head is told once.
    @Test func theHeadOfAnAnswerIsToldOnce() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .status(404))
            let heads = Gathered<Int>()
            let made = Intercepting { _, _, _ in InterceptedResponse(status: 201) }
            let saving = Intercepting { request, _, next in
                _ = try? await next(request)
                return InterceptedResponse(status: 202, body: Data("saved".utf8))
            }
            for (url, one) in [(wire.url + "/", made), ("http://127.0.0.1:1/", saving), (wire.url + "/", saving)] {
                for place in [InterceptedRequest.Context.Place.call, .exchange] {
                    _ = try await wire.session.request(url).onResponseHead { heads.add($0.status) }
                        .interceptors(call: place == .call ? [one] : [], exchange: place == .exchange ? [one] : []).value()
                }
            }
            await wire.agent.waitUntilIdle()
            #expect(heads.all == [201, 201, 202, 202, 202, 202])
        }
    }

    /// A field that the interceptor sets for its second call is its own, and not the jar's.
    @Test func aCookieOfTheInterceptorsIsNotTheJars() async throws {
        try await withWire {
            $0.cookies = CookieJar()
        } _: { wire async throws in
            wire.server.on("/set", ScriptedResponse.ok().header("Set-Cookie", "a=1"))
            wire.server.enqueue(.status(401), for: "/")
            wire.server.on("/", .ok("in"))
            _ = try await wire.get("/set").value()
            let login = Intercepting { request, _, next in
                let first = try await next(request)
                guard first.head.status == 401 else { return first }
                var again = request
                again.headers["Cookie"] = "s=2"
                return try await next(again)
            }
            _ = try await wire.get().interceptors(call: [login]).value()
            #expect(wire.server.requests.map { $0.headers["Cookie"] } == [nil, "a=1", "s=2"])
        }
    }

    /// The body that is sent decides about sending it again.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func aBodyThatTookThePlaceOfAOneTimeOneIsSentAgain(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("there"))
            let copying = Intercepting { request, _, next in
                var request = request
                request.body = .data(Data("copy".utf8))
                let first = try await next(request)
                return first.head.status == 503 ? try await next(request) : first
            }
            let body = AsyncStream {
                $0.yield(Data("x".utf8)); $0.finish()
            }
            let response = try? await wire.session.upload(wire.url + "/", from: body).validate(.any)
                .interceptors(call: place == .call ? [copying] : [], exchange: place == .exchange ? [copying] : []).response()
            #expect(response?.status == 200 && wire.server.requests.map(\.text) == ["copy", "copy"])
        }
    }

    /// A POST is a POST, whoever has made it one.
    @Test func aMethodThatAnInterceptorSetsDecidesAboutRetries() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("twice"))
            let posting = Intercepting { request, _, next in
                var request = request
                request.method = .post
                request.body = .data(Data("pay".utf8))
                return try await next(request)
            }
            _ = try? await wire.get().interceptors(exchange: [posting]).value()
            #expect(wire.server.requests.map(\.method) == ["POST"])
        }
    }

    /// Fields that an interceptor of the call adds are the request's own, this one too.
    @Test func anIdempotencyKeyThatAnInterceptorAddsCounts() async throws {
        try await withWire {
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .milliseconds(1))
        } _: { wire async throws in
            wire.server.enqueue(.status(503))
            wire.server.on("/", .ok("done"))
            wire.session.onRequest { $0.headers["Idempotency-Key"] = "\"k\"" }
            _ = try? await wire.session.request(wire.url + "/", method: .post, body: .data(Data("pay".utf8))).value()
            #expect(wire.server.requests.count == 2)
        }
    }

    /// Behind a redirect out of the cache, too, the exchange is one with the server.
    @Test func theSourceOfAnExchangeIsTheNetwork() async throws {
        try await withCache { cached async throws in
            cached.server.on("/r", ScriptedResponse.redirect(to: "/there", status: 301).header("Cache-Control", "max-age=100"))
            cached.server.on("/there", ScriptedResponse.ok("x").header("Cache-Control", "no-store"))
            let log = Gathered<String>()
            let spy = Intercepting { request, _, next in
                let response = try await next(request)
                log.add("\(response.source)")
                return response
            }
            for _ in 0..<2 { _ = try await cached.wire.get("/r").interceptors(exchange: [spy]).value() }
            #expect(log.all == ["network", "network", "network"])
        }
    }

    /// `next` throws the error of the cancelled run, also once that is gone.
    @Test func nextThrowsTheCancelOfARunThatIsGone() async throws {
        try await withWire { wire async throws in
            let (begun, log) = (Latch(), Gathered<String>())
            let late = Intercepting { request, _, next in
                begun.open()
                try? await Task.sleep(for: .seconds(3600))
                await Task.detached { try? await Task.sleep(for: .milliseconds(100)) }.value
                do { return try await next(request) } catch let error as NetworkError {
                    log.add("\(error.code)")
                    throw error
                }
            }
            var bag: DeallocBag? = DeallocBag()
            wire.get().interceptors(call: [late]).start(in: bag!)
            await begun.wait()
            bag = nil
            await eventually { !log.all.isEmpty }
            #expect(log.all == ["cancelled"])
        }
    }

    /// "everything else is in memory" (`Next.callAsFunction`), also where the value is none.
    @Test func theBodyIsThereWhereTheDecoderWantsNone() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("text"))
            let log = Gathered<String>()
            let spy = Intercepting { request, _, next in
                let response = try await next(request)
                log.add(String(decoding: response.data, as: UTF8.self))
                return response
            }
            _ = try await wire.session.request(wire.url + "/", decoder: .head).interceptors(call: [spy], exchange: [spy]).value()
            #expect(log.all == ["text", "text"])
        }
    }

    /// A body that was cut at the limit of errors is no whole one.
    @Test func aRefusedBodyBeyondTheLimitIsNoSuccess() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", ScriptedResponse(status: 404, body: .bytes(Array("0123456789".utf8))))
            let forgiving = Intercepting { request, _, next in
                var response = try await next(request)
                response.head = ResponseHead(status: 200, headers: response.head.headers)
                return response
            }
            let value = try? await wire.get("/") { $0.limits.bodyBytes = 4 }.interceptors(exchange: [forgiving]).value()
            #expect(value == nil, "\(String(decoding: value ?? Data(), as: UTF8.self))")
        }
    }

    /// A response that was kept from another run, returned without `next`: its file is not there, and was an empty one.
    @Test func aKeptResponseIsNoFileOfThisRun() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("whole"))
            let kept = Lock<InterceptedResponse?>(nil)
            let keeping = Intercepting { request, _, next in
                if let response = kept.withLock({ $0 }) { return response }
                let response = try await next(request)
                kept.withLock { $0 = response }
                return response
            }
            let folder = TemporaryFolder()
            let file = URL(filePath: folder.path + "/file")
            let download = wire.session.download(wire.url + "/", to: file).interceptors(call: [keeping])
            _ = try await download.value()
            let error = try await download.failure()
            #expect(error.code == .interceptorFailed && folder.contents(of: "file") == Data("whole".utf8), "\(error)")
        }
    }

    @Test(arguments: [-1, 0, 1, 99, 1_000], [InterceptedRequest.Context.Place.call, .exchange])
    func aStatusThatIsNoneFails(_ status: Int, _ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("real"))
            for asks in [true, false] {
                let answering = Intercepting { request, _, next in
                    if asks { _ = try await next(request) }
                    return InterceptedResponse(status: status)
                }
                let error = try await wire.get()
                    .interceptors(call: place == .call ? [answering] : [], exchange: place == .exchange ? [answering] : []).failure()
                #expect(error.code == .interceptorFailed && error.message.contains("\(status)"), "\(error)")
            }
        }
    }

    /// An interceptor that finds fault with a stream: its reader has all bytes by then, and hears of it in the place of the end.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func theReaderOfAStreamHearsOfTheFault(_ place: InterceptedRequest.Context.Place) async throws {
        struct Fault: Error {}
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789"))
            let checking = Intercepting { request, _, next in
                _ = try await next(request)
                throw Fault()
            }
            let session = wire.session.with {
                if place == .call { $0.options.interceptors.call = [checking] } else { $0.options.interceptors.exchange = [checking] }
            }
            let response = try await session.stream(wire.url + "/")
            var count = 0
            let error = await #expect(throws: NetworkError.self) { for try await piece in response.bytes { count += piece.count } }
            #expect(error?.code == .interceptorFailed && count == 10, "\(String(describing: error))")
        }
    }

    private actor Owner: Interceptor {
        private var isOver = false
        private(set) var lateCalls = 0

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            if isOver { lateCalls += 1 }
            return InterceptedResponse(status: 200)
        }

        func startAndGo(_ session: Session, _ place: InterceptedRequest.Context.Place, after microseconds: Int) {
            isOver = false
            let bag = DeallocBag()
            session.get("/").interceptors(call: place == .call ? [self] : [], exchange: place == .exchange ? [self] : []).start(in: bag)
            usleep(useconds_t(microseconds))  // the actor is busy
            bag.end()
            isOver = true
        }
    }

    /// The call is on its way to the actor, and there the owner goes first.
    @Test(arguments: [InterceptedRequest.Context.Place.call, .exchange])
    func anActorIsNotAskedBehindTheEnd(_ place: InterceptedRequest.Context.Place) async throws {
        try await withWire { wire async throws in
            let owner = Owner()
            let session = wire.session.with { $0.baseURL = wire.url }
            for round in 0..<50 {
                await owner.startAndGo(session, place, after: round * 100)
                await session.agent.waitUntilIdle()
            }
            #expect(await owner.lateCalls == 0)
        }
    }

    private enum Leaving: CaseIterable { case withAll, cancel, bag }

    /// The body of a stream is whole, and an interceptor has not answered yet.
    @Test(arguments: Leaving.allCases) private func aHeldStreamHasOneEnd(_ leaving: Leaving) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok("0123456789"))
            let (hasBody, mayAnswer) = (Latch(), Latch())
            let slow = Intercepting { request, _, next in
                let response = try await next(request)
                hasBody.open()
                await mayAnswer.wait()
                return response
            }
            let session = wire.session.with { $0.options.interceptors.exchange = [slow] }
            let bag = DeallocBag()
            do {
                let response = try await session.stream(wire.url + "/", in: bag)
                await hasBody.wait()
                switch leaving {
                case .withAll: break
                case .cancel: response.run.cancel()
                case .bag: bag.end()
                }
                var (count, error): (Int, NetworkError?) = (0, nil)
                do throws(NetworkError) {
                    for try await piece in response.bytes {
                        count += piece.count
                        // It knows how much there is, and does not wait for the end.
                        if count == 10, leaving == .withAll { break }
                    }
                } catch let thrown { error = thrown }
                #expect(leaving == .withAll ? count == 10 && error == nil : error?.isCancelled == true)
            }
            mayAnswer.open()
            await session.agent.waitUntilIdle()
            let statistics = session.statistics
            #expect(statistics.succeeded == (leaving == .withAll ? 1 : 0) && statistics.cancelled == (leaving == .withAll ? 0 : 1))
        }
    }
}
