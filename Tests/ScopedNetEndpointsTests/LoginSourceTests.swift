import CleanSlate
import FoundationEssentials
import ScopedNet
import ScopedNetEndpoints
import ScopedNetTesting
import Synchronization
import Testing

/// Calls that wait while the program logs in, or for a token (CT-4, defect 59).
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct LoginSourceTests {
    private struct Server: APIService {
        let gate: LoginSource
        let token: Token
        var baseURL: String { "http://api.test/" }
        var interceptors: [any Interceptor] {
            [gate.interceptor(prepare: { [token] in $0.headers["X-Token"] = token.value }, isNeeded: { $0.head.status == 401 })]
        }
    }

    private final class Token: Sendable {
        private let state = Mutex("old")
        var value: String {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    private struct Get: Endpoint {
        typealias Value = String
        let path: String
    }

    /// The login, which a test lets go on.
    private final class Login: Sendable {
        private let state = Mutex((count: 0, waiters: [CheckedContinuation<Bool, Never>](), cancels: 0))
        var count: Int { state.withLock { $0.count } }
        var cancels: Int { state.withLock { $0.cancels } }

        func run() async throws {
            let succeeded = await withTaskCancellationHandler {
                await withCheckedContinuation { waiter in
                    state.withLock { state in
                        state.count += 1
                        state.waiters.append(waiter)
                    }
                    if Task.isCancelled { finish(false) }
                }
            } onCancel: {
                state.withLock { $0.cancels += 1 }
                finish(false)
            }
            if !succeeded { throw LoginSource.Cancelled() }
        }

        func finish(_ succeeded: Bool) {
            let waiters = state.withLock { state in
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume(returning: succeeded) }
        }
    }

    private func make() -> (APIClient<Server>, LoginSource, Login, Token) {
        let (login, token) = (Login(), Token())
        let gate = LoginSource { try await login.run() }
        let session = MockTransport.session("http://api.test/")
        for name in ["a", "b", "c"] {
            session.mock.on(name) { exchange in
                exchange.headers[values: HTTPField.Name("X-Token")!] == ["new"] ? .ok(name) : .status(401)
            }
        }
        return (APIClient(Server(gate: gate, token: token), session: session), gate, login, token)
    }

    @Test func allWaitForOneLoginAndGoOn() async throws {
        let (client, gate, login, token) = make()
        async let a = client.send(Get(path: "a"))
        async let b = client.send(Get(path: "b"))
        while gate.waitingCount < 2 || login.count < 1 { await Task.yield() }
        #expect(login.count == 1)
        token.value = "new"
        login.finish(true)
        #expect(try await [a, b] == ["a", "b"])
        // The login since then is used without another one.
        #expect(try await client.send(Get(path: "c")) == "c" && login.count == 1)
        await client.session.shutdown()
    }

    @Test(arguments: ["throws", "cancel"]) func allFailTogether(way: String) async throws {
        let (client, gate, login, _) = make()
        let tasks = ["a", "b"].map { path in
            Task { () -> FailureKind? in
                do throws(NetworkError) {
                    _ = try await client.send(Get(path: path))
                    return nil
                } catch { return FailureKind(error) }
            }
        }
        while gate.waitingCount < 2 || login.count < 1 { await Task.yield() }
        if way == "throws" { login.finish(false) } else { gate.cancel() }
        for task in tasks { #expect(await task.value == .loginCancelled) }
        while way == "cancel", login.cancels == 0 { await Task.yield() }
        #expect(gate.waitingCount == 0)
        // The next one begins a login of its own.
        let next = Task { try? await client.send(Get(path: "c")) }
        while login.count < 2 { await Task.yield() }
        login.finish(false)
        #expect(await next.value == nil)
        await client.session.shutdown()
    }

    @Test func whoIsCancelledWaitsNoMore() async throws {
        let (client, gate, login, _) = make()
        let (one, two) = (DeallocBag(), DeallocBag())
        client.call(Get(path: "a")).start(in: one)
        client.call(Get(path: "b")).start(in: two)
        while gate.waitingCount < 2 || login.count < 1 { await Task.yield() }
        one.end()
        while gate.waitingCount == 2 { await Task.yield() }
        #expect(login.cancels == 0)
        // The last one takes the login along.
        two.end()
        while login.cancels == 0 { await Task.yield() }
        await client.session.agent.waitUntilIdle()
        #expect(gate.waitingCount == 0)
        await client.session.shutdown()
    }

    @Test func aRefusalAfterTwoLoginsIsTheResult() async throws {
        let (client, _, login, _) = make()
        let task = Task { () -> Int? in
            do throws(NetworkError) {
                _ = try await client.send(Get(path: "a"))
                return nil
            } catch { return error.response?.status }
        }
        for round in 1...2 {
            while login.count < round { await Task.yield() }
            login.finish(true)
        }
        #expect(await task.value == 401 && login.count == 2)
        await client.session.shutdown()
    }

    /// The first who needs it may go while others wait: the login belongs to none of them.
    @Test func aLoginGoesOnWhenItsFirstCallerHasGone() async throws {
        let began = Mutex(0)
        let (session, token) = (MockTransport.session("http://api.test/", unanswered: .wait), Token())
        let gate = LoginSource { [session] in
            began.withLock { $0 += 1 }
            token.value = try await session.get("login", as: String.self).value()
        }
        session.mock.on("a") { exchange in exchange.headers[HTTPField.Name("X-Token")!] == "new" ? .ok("a") : .status(401) }
        let client = APIClient(Server(gate: gate, token: token), session: session)
        let bag = DeallocBag()
        bag.task { _ = try? await client.send(Get(path: "a")) }
        while gate.waitingCount < 1 { await Task.yield() }
        async let other = client.send(Get(path: "a"))
        while gate.waitingCount < 2 { await Task.yield() }
        bag.end()
        while gate.waitingCount == 2 { await Task.yield() }
        while session.mock.exchanges.first(where: { $0.path == "/login" }) == nil { await Task.yield() }
        session.mock.exchanges.first { $0.path == "/login" }?.respond(.ok("new"))
        #expect(try await other == "a" && began.withLock { $0 } == 1)
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    // MARK: At the challenge

    /// A server with credentials, which all of its calls have.
    private struct Challenging: APIService {
        let authentication: Authentication
        var baseURL: String { "http://api.test/" }
        func configure(_ options: inout RequestOptions) { options.authentication = authentication }
    }

    private struct Song: Endpoint {
        typealias Value = URL
        let file: URL
        var path: String { "a" }
        var destination: EndpointDestination<URL> { .file(file) }
    }

    /// A download has no body in memory, and a stream's has begun: they are asked at the challenge.
    @Test(arguments: [false, true]) func streamsAndDownloadsGoOnAfterTheLogin(isDownload: Bool) async throws {
        let (login, token) = (Login(), Token())
        let gate = LoginSource { try await login.run() }
        let session = MockTransport.session("http://elsewhere.test/")
        session.mock.on("http://api.test/a") { exchange in
            exchange.headers[.authorization] == "Bearer new" ? .ok("body") : .status(401, "page").header(.wwwAuthenticate, "Bearer")
        }
        let client = APIClient(Challenging(authentication: gate.authentication { .bearer(token.value) }), session: session)
        let file = FileManager.default.temporaryDirectory.appending(path: "song-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }
        let task = Task {
            if isDownload { return try String(contentsOf: await client.send(Song(file: file)), encoding: .utf8) }
            var text = ""
            for try await piece in try await client.stream(Get(path: "a")).bytes { text += String(decoding: piece, as: UTF8.self) }
            return text
        }
        while login.count < 1 { await Task.yield() }
        #expect(!FileManager.default.fileExists(atPath: file.path))
        token.value = "new"
        login.finish(true)
        #expect(try await task.value == "body" && login.count == 1 && session.mock.exchanges.count == 2)
        await session.shutdown()
    }

    /// CT-4, defects 57, 59. Calls that are refused with an old token wait for one renewal, and go on or fail together, which is "token needed".
    @Test(arguments: [true, false]) func callsGoOnWithARenewedToken(isRenewed: Bool) async throws {
        struct Gone: Error {}
        let renewal = Login()
        let tokens = TokenSource("old") { _ in
            guard isRenewed else { throw Gone() }
            try await renewal.run()
            return "new"
        }
        let session = MockTransport.session("http://elsewhere.test/", unanswered: .wait)
        let client = APIClient(Challenging(authentication: .tokens(tokens)), session: session)
        let tasks = ["a", "b"].map { path in
            Task { () -> (String?, FailureKind?) in
                do throws(NetworkError) { return (try await client.send(Get(path: path)), nil) } catch { return (nil, FailureKind(error)) }
            }
        }
        await session.mock.waitForExchanges(2)
        for exchange in session.mock.exchanges {
            #expect(exchange.headers[.authorization] == "Bearer old")
            exchange.respond(.status(401).header(.wwwAuthenticate, "Bearer"))
        }
        if isRenewed {
            while renewal.count < 1 { await Task.yield() }
            renewal.finish(true)
            for number in 2...3 {
                let exchange = await session.mock.exchange(number)
                #expect(exchange.headers[.authorization] == "Bearer new")
                exchange.respond(.ok(exchange.path))
            }
        }
        for (task, path) in zip(tasks, ["/a", "/b"]) {
            let (value, kind) = await task.value
            #expect(value == (isRenewed ? path : nil) && kind == (isRenewed ? nil : .tokenNeeded))
        }
        #expect(renewal.count == (isRenewed ? 1 : 0) && session.mock.exchanges.count == (isRenewed ? 4 : 2))
        await session.shutdown()
    }
}
