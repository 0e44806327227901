import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// A service looks at answers before anything is made of them, and at calls before they are sent (YB-3, YB-8, CT-2, CT-3, defect 57).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct DecisionTests {
    private struct Word: Endpoint {
        typealias Value = String
        var name = "word"
        var path: String { name }
        func validate() throws { if name.isEmpty { throw Refused.noName } }
        func configure(_ options: inout RequestOptions) { options.retry = .none }
    }

    /// The same word, of which the program wants the length.
    private struct Length: Endpoint {
        typealias Value = Int
        var path: String { "word" }
        var log: CallLog?
        var decoder: ResponseDecoder<Int> {
            ResponseDecoder<String>.text.map { [log] text in
                log?.add("decoder")
                return text.count
            }
        }
    }

    private enum Refused: Error { case noName, byTheService }

    /// Decides by the body: "login" is for a page that is shown already, as is a failure.
    private struct Deciding: Interceptor {
        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            let response: InterceptedResponse
            do { response = try await next(request) } catch {
                context.cancel()
                throw error
            }
            switch String(decoding: response.data, as: UTF8.self) {
            case "login": context.cancel()
            case "late": throw Refused.byTheService
            case "gone": return InterceptedResponse(status: 200, headers: response.head.headers, body: response.data)
            default: break
            }
            return response
        }
    }

    /// Capitals, for everybody.
    private struct Shouting: Interceptor {
        var log: CallLog?

        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            var response = try await next(request)
            log?.add("interceptor")
            response.body = .data(Data(String(decoding: response.data, as: UTF8.self).uppercased().utf8))
            return response
        }
    }

    private struct Server: APIService {
        var interceptors: [any Interceptor] = []
        var baseURL: String { "http://api.test/" }
    }

    /// A service whose `adapt` changes while its client lives.
    private final class Versioned: APIService {
        let version = Mutex(1)
        var baseURL: String { "http://api.test/" }
        func adapt(_ call: inout APICall) throws { call.query["v"] = "\(version.withLock { $0 })" }
    }

    private func withCache(_ test: (ResponseCache) async throws -> Void) async throws {
        let folder = "/tmp/scopednet-decisions-\(UInt64.random(in: 0...UInt64.max))"
        let cache = ResponseCache(StoreConfiguration(directory: folder))
        // A cache that is closed meanwhile removes files, too, which is an error here.
        defer { withExtendedLifetime(cache) { _ = try? FileManager.default.removeItem(atPath: folder) } }
        try await test(cache)
        try await cache.flush()
    }

    private func withClient(
        _ interceptors: [any Interceptor], cache: ResponseCache? = nil,
        _ test: (APIClient<Server>, MockTransport) async throws -> Void
    ) async throws {
        let session = MockTransport.session("http://api.test/") { $0.cache = cache }
        try await test(APIClient(Server(interceptors: interceptors), session: session), session.mock)
        await session.shutdown()
    }

    /// YB-8. A refusal that counts as a success, a success that counts as a failure, and an answer and an error that are told to nobody.
    @Test func theAnswerDecides() async throws {
        try await withClient([Deciding()]) { client, mock async throws in
            mock.on("http://api.test/gone", .status(410, "gone"))
            mock.on("http://api.test/late", .ok("late"))
            mock.on("http://api.test/word", .ok("login"))
            #expect(try await client.send(Word(name: "gone")) == "gone")
            let failure = await #expect(throws: NetworkError.self) { try await client.send(Word(name: "late")) }
            #expect(failure?.code == .interceptorFailed && failure?.underlying as? Refused == .byTheService)
            mock.on("http://api.test/lost", .failing(.connectionLost))
            let ends = Mutex<[EndReason]>([])
            for name in ["word", "lost"] {
                client.call(Word(name: name))
                    .onResult { _ in Issue.record("told") }
                    .onEnd { end in ends.withLock { $0.append(end) } }
                    .start()
            }
            await client.session.agent.waitUntilIdle()
            #expect(ends.withLock { $0.map(\.isCancelled) } == [true, true])
            let stopped = await #expect(throws: NetworkError.self) { try await client.send(Word()) }
            #expect(stopped?.isCancelled == true)
        }
    }

    private static let stored = MockReply.ok("hear").header(.cacheControl, "max-age=60").header(.contentType, "text/plain")

    /// YB-3, YB-8. Changed and looked at whether it comes from the server or out of the cache.
    @Test func theAnswerIsChanged() async throws {
        try await withCache { cache async throws in
            try await withClient([Shouting()], cache: cache) { client, mock async throws in
                mock.on("http://api.test/word", Self.stored)
                let first = try await client.response(to: Word())
                let second = try await client.response(to: Word())
                #expect([first.value, second.value] == ["HEAR", "HEAR"])
                #expect(first.source == .network && second.source == .cache)
                // One answer, and another view of it.
                #expect(try await client.send(Length()) == 4)
                #expect(mock.exchanges.count == 1)
            }
        }
    }

    /// Holds its thread up until `log` has so many lines, or for ten seconds.
    private func holdUp(until count: Int, _ log: CallLog) {
        let end = ContinuousClock.now + .seconds(10)
        while log.all.count < count, ContinuousClock.now < end { Thread.sleep(forTimeInterval: 0.001) }
    }

    /// YB-3. Off the main thread: nothing else can run there while this test holds it up, and yet the value is made, from the server's
    /// response and from the stored one.
    @MainActor @Test func theMainThreadIsNotNeededToChangeAnAnswer() async throws {
        let log = CallLog()
        try await withCache { cache async throws in
            try await withClient([Shouting(log: log)], cache: cache) { client, mock async throws in
                mock.on("http://api.test/word", Self.stored)
                for round in 1...2 {
                    MainActor.assertIsolated()
                    client.call(Length(log: log)).onSuccess { length in log.add("told \(length)") }.start()
                    holdUp(until: 3 * round - 1, log)
                    #expect(log.all.suffix(2) == ["interceptor", "decoder"], "round \(round)")
                    await client.session.agent.waitUntilIdle()
                    #expect(log.all.last == "told 4" && mock.exchanges.count == 1)
                }
            }
        }
    }

    /// YB-2. What `adapt` leaves is sent, and is what the cache knows the call by: the same for a request that says all of it itself.
    @Test func theCacheKnowsACallByWhatAdaptLeaves() async throws {
        try await withCache { cache async throws in
            let session = MockTransport.session("http://api.test/") { $0.cache = cache }
            let client = APIClient(Versioned(), session: session)
            session.mock.on("http://api.test/word", Self.stored)
            var sources: [ResponseSource] = []
            for version in [1, 2, 1, 2] {
                client.service.version.withLock { $0 = version }
                sources.append(try await client.response(to: Word()).source)
            }
            #expect(sources == [.network, .network, .cache, .cache])
            #expect(session.mock.exchanges.map(\.url) == ["http://api.test/word?v=1", "http://api.test/word?v=2"])
            #expect(try await session.get("word", query: ["v": 1], as: String.self).response().source == .cache)
            #expect(try await session.get("word", as: String.self).response().source == .network)
            await session.shutdown()
        }
    }

    /// CT-2, CT-3. Nothing is sent of a call that the endpoint refuses, and nothing is heard of one that the service drops.
    @Test func aCallIsRefusedOrDropped() async throws {
        struct Dropping: Interceptor {
            func intercept(
                _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
            ) async throws -> InterceptedResponse {
                context.cancel()
                return try await next(request)
            }
        }
        try await withClient([Dropping()]) { client, mock async throws in
            let refused = await #expect(throws: NetworkError.self) { try await client.send(Word(name: "")) }
            #expect(refused?.code == .invalidParameters && refused?.underlying as? Refused == .noName)
            let dropped = await #expect(throws: NetworkError.self) { try await client.send(Word()) }
            #expect(dropped?.isCancelled == true && mock.exchanges.isEmpty)
        }
    }
}
