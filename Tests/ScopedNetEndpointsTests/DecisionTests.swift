import CleanSlate
import FoundationEssentials
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
        var decoder: ResponseDecoder<Int> { ResponseDecoder<String>.text.map(\.count) }
    }

    private enum Refused: Error { case noName, byTheService }

    /// Decides by the body: "login" is for a page that is shown already.
    private struct Deciding: Interceptor {
        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            let response = try await next(request)
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
        func intercept(
            _ request: InterceptedRequest, context: InterceptedRequest.Context, next: InterceptedRequest.Next
        ) async throws -> InterceptedResponse {
            var response = try await next(request)
            response.body = .data(Data(String(decoding: response.data, as: UTF8.self).uppercased().utf8))
            return response
        }
    }

    private struct Server: APIService {
        var interceptors: [any Interceptor] = []
        var baseURL: String { "http://api.test/" }
    }

    private func withClient(
        _ interceptors: [any Interceptor], cache: ResponseCache? = nil,
        _ test: (APIClient<Server>, MockTransport) async throws -> Void
    ) async throws {
        let session = MockTransport.session("http://api.test/") { $0.cache = cache }
        try await test(APIClient(Server(interceptors: interceptors), session: session), session.mock)
        await session.shutdown()
    }

    /// YB-8. A refusal that counts as a success, a success that counts as a failure, and an answer that nobody hears of.
    @Test func theAnswerDecides() async throws {
        try await withClient([Deciding()]) { client, mock async throws in
            mock.on("http://api.test/gone", .status(410, "gone"))
            mock.on("http://api.test/late", .ok("late"))
            mock.on("http://api.test/word", .ok("login"))
            #expect(try await client.send(Word(name: "gone")) == "gone")
            let failure = await #expect(throws: NetworkError.self) { try await client.send(Word(name: "late")) }
            #expect(failure?.code == .interceptorFailed && failure?.underlying as? Refused == .byTheService)
            let ends = Mutex<[EndReason]>([])
            client.call(Word())
                .onResult { _ in Issue.record("told") }
                .onEnd { end in ends.withLock { $0.append(end) } }
                .start()
            await client.session.agent.waitUntilIdle()
            #expect(ends.withLock { $0.map(\.isCancelled) } == [true])
            let stopped = await #expect(throws: NetworkError.self) { try await client.send(Word()) }
            #expect(stopped?.isCancelled == true)
        }
    }

    /// YB-3. Off the main thread, whether it comes from the server or out of the cache.
    @Test func theAnswerIsChanged() async throws {
        let folder = "/tmp/scopednet-decisions-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let cache = ResponseCache(StoreConfiguration(directory: folder))
        try await withClient([Shouting()], cache: cache) { client, mock async throws in
            mock.on("http://api.test/word", .ok("hear").header(.cacheControl, "max-age=60").header(.contentType, "text/plain"))
            let first = try await client.response(to: Word())
            let second = try await client.response(to: Word())
            #expect([first.value, second.value] == ["HEAR", "HEAR"])
            #expect(first.source == .network && second.source == .cache)
            // One answer, and another view of it.
            #expect(try await client.send(Length()) == 4)
            #expect(mock.exchanges.count == 1)
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
