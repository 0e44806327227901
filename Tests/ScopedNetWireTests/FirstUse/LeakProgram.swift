import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

/// Leak tests of the reader of stories, without a network, written by a newcomer from the documents alone.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct LeakProgram {
    private let silent = MockTransport.session("http://example.test/v1/", unanswered: .wait)

    private let clock = ManualClock()

    /// A session that fails what no route answers, with the names of the routes. Its time is moved by hand.
    private func answeringSession() -> Session {
        MockTransport.session("http://example.test/v1/") {
            $0.json = JSONCoding(keys: .snakeCase, dates: .iso8601)
            $0.use(clock)
        }
    }

    private nonisolated static let sea = StoriesProgram.Story(id: 7, title: "Sea", postedAt: Date(timeIntervalSince1970: 1_777_629_600))

    @Test func theListGoesWithItsRequest() async {
        await expectDeallocates {
            StoriesProgram.ListModel(session: silent)
        } after: {
            $0.load()
        }
        await expectScopeCancels {
            StoriesProgram.ListModel(session: silent)
        } after: { model in
            model.load()
            model.submit("Sea", key: "1")
        }
    }

    @Test func thePageGoesWithItsSteps() async {
        await expectDeallocates {
            StoriesProgram.PageModel(session: silent)
        } after: {
            $0.open(7)
        }
        await expectScopeCancels {
            StoriesProgram.PageModel(session: silent)
        } after: {
            $0.open(7)
        }
    }

    @Test func theSearchGoesWhileItIsTyped() async {
        await expectDeallocates {
            StoriesProgram.SearchModel(session: silent)
        } after: { model in
            for text in ["s", "se", "sea"] { model.type(text) }
        }
    }

    @Test func theEditionGoesWhileItIsLoaded() async {
        let file = FileManager.default.temporaryDirectory.appending(path: "scopednet-edition-\(UUID().uuidString)")
        let edition = URL(string: "http://example.test/edition")!
        await expectDeallocates {
            StoriesProgram.EditionModel(edition, to: file, session: silent)
        } after: {
            $0.goOn()
        }
    }

    @Test func theAnswersAreShown() async {
        let session = answeringSession()
        session.mock.on(.get, "stories/7", .json(#"{"id": 7, "title": "Sea", "posted_at": "2026-05-01T10:00:00Z", "comment_ids": [1, 2]}"#))
        session.mock.on(.get, "stories/7/author", .ok("Ann"))
        for id in 1...2 { session.mock.on(.get, "comments/\(id)", .json(["text": "Salty"])) }
        let model = StoriesProgram.PageModel(session: session)
        model.open(7)
        await model.deallocBag.waitUntilIdle()
        #expect(model.story?.title == "Sea" && model.comments.count == 2 && model.author == "Ann")
    }

    @Test func anUnknownRequestIsAMessage() async {
        let session = answeringSession()
        session.mock.on(.get, "search", .json("[]"))
        let model = StoriesProgram.ListModel(session: session)
        model.load()
        await model.deallocBag.waitUntilIdle()
        #expect(model.message?.isEmpty == false && !model.isLoading)
        #expect(session.mock.unansweredRequests == ["GET http://example.test/v1/stories?page=1"])
    }

    // MARK: Sequences, latency and faults

    @Test func aBusyServerIsAskedAgainWhenItSays() async {
        let session = answeringSession()
        session.mock.on(.get, "stories", [.status(503).retryAfter(5), .json([Self.sea])])
        let model = StoriesProgram.ListModel(session: session)
        model.load()
        // The pause that the server has asked for.
        await eventually { clock.nextWait == .seconds(5) }
        #expect(model.isLoading)
        clock.advance(by: .milliseconds(4999))
        #expect(session.mock.exchanges.count == 1)
        clock.advance(by: .milliseconds(1))
        await model.deallocBag.waitUntilIdle()
        #expect(model.stories == [Self.sea] && model.message == nil && session.mock.exchanges.count == 2)
        // The last reply answers all that follow.
        model.load(page: 2)
        await model.deallocBag.waitUntilIdle()
        #expect(session.mock.exchanges.last?.url == "http://example.test/v1/stories?page=2" && clock.armedCount == 0)
        #expect(session.statistics.retries == 1 && session.statistics.succeeded == 2)
    }

    @Test func aSlowServerKeepsNobody() async {
        let session = answeringSession()
        session.mock.on(.get, "search", .json([Self.sea]).after(.seconds(2)))
        await expectDeallocates {
            StoriesProgram.SearchModel(session: session)
        } after: {
            $0.type("sea")
        }
        await eventually { clock.armedCount == 0 }
        let model = StoriesProgram.SearchModel(session: session)
        model.type("sea")
        await clock.waitForTimers(1)
        #expect(model.results.isEmpty)
        clock.advance(by: .seconds(2))
        await model.deallocBag.waitUntilIdle()
        #expect(model.results == [Self.sea])
    }

    @Test func faultsAreSentences() async {
        let session = answeringSession()
        let model = StoriesProgram.SearchModel(session: session)
        let faults: [(MockReply, String)] = [
            (.failing(.nameNotResolved), "You are offline."),
            (.failing(.connectionRefused), "The server does not accept connections."),
            (MockReply.json([Self.sea]).thenFailing(.connectionLost), "The connection"),
            (.status(500), "The server has a problem (500)."),
        ]
        for (fault, words) in faults {
            session.mock.on(.get, "search", fault)
            model.type("sea")
            await model.deallocBag.waitUntilIdle()
            #expect(model.message?.hasPrefix(words) == true && model.results.isEmpty, "\(model.message ?? "-")")
        }
        #expect(session.statistics.errors == [.nameNotResolved: 1, .connectionRefused: 1, .connectionLost: 1, .unacceptableStatus: 1])
    }

    @Test func thePartsOfTheFirstPageGoTogether() async {
        await expectScopeCancels {
            StoriesProgram.HomeModel(session: silent)
        } after: {
            $0.open()
        }
        let session = answeringSession()
        session.mock.on("me", .json(["name": "Ann"]))
        session.mock.on("stories", .json([Self.sea]))
        session.mock.on("greeting", [.failing(.connectTimeout), .ok("Hello")])
        let model = StoriesProgram.HomeModel(session: session)
        model.open()
        await model.deallocBag.waitUntilIdle()
        #expect(model.account == nil && model.message?.isEmpty == false && !model.isLoading)
        model.open()
        await model.deallocBag.waitUntilIdle()
        #expect(model.account?.name == "Ann" && model.stories == [Self.sea] && model.greeting == "Hello")
    }

    // MARK: What the mock was asked

    @Test func theSubmissionIsAsItShouldBe() async throws {
        let session = answeringSession()
        session.onRequest { $0.headers["X-Program"] = "reader" }
        session.mock.on(.post, "stories") { exchange in
            exchange.headers[.contentType] == "application/json" ? .json(Self.sea, status: 201) : .status(415)
        }
        let model = StoriesProgram.ListModel(session: session)
        model.submit("Sea", key: "k1")
        let exchange = await session.mock.exchange(0)
        await model.deallocBag.waitUntilIdle()
        #expect(model.stories == [Self.sea] && exchange.isEnded)
        #expect(exchange.method == .post && exchange.path == "/v1/stories")
        #expect(exchange.body == Data(#"{"draft":false,"title":"Sea"}"#.utf8))
        #expect(exchange.headers[try #require(.init("Idempotency-Key"))] == #""k1""#)
        #expect(exchange.headers[try #require(.init("X-Program"))] == "reader")
    }

    @Test func theTokenIsRenewedBeforeItExpires() async {
        let kept = Kept()
        let session = answeringSession()
        session.mock.on(
            .post, "token",
            (1...2).map { .json(["access_token": "a\($0)", "expires_in": 600, "refresh_token": "r\($0)"]) })
        session.mock.on(.get, "stories", .json([Self.sea]))
        let storage = TokenSource.Storage {
            nil
        } save: { token in
            kept.add(token)
        }
        let signedIn = StoriesProgram.logIn(session, refreshToken: "r0", storage: storage)
        let model = StoriesProgram.ListModel(session: signedIn)
        for pause in [Duration.zero, .seconds(569), .seconds(2)] {
            clock.advance(by: pause)
            model.load()
            await model.deallocBag.waitUntilIdle()
        }
        // The request within the last thirty seconds has begun the renewal, and has not waited for it.
        await kept.waitUntilHas("a2")
        // A token is in use a moment after it has been saved.
        repeat {
            model.load()
            await model.deallocBag.waitUntilIdle()
        } while session.mock.exchanges.last?.headers[.authorization] == "Bearer a1"
        let exchanges = session.mock.exchanges
        let sent = exchanges.filter { $0.path == "/v1/stories" }.map { $0.headers[.authorization] }
        #expect(sent.prefix(3).allSatisfy { $0 == "Bearer a1" } && sent.count > 3 && sent.last == "Bearer a2")
        let renewals = exchanges.filter { $0.path == "/v1/token" }.map { String(decoding: $0.body ?? Data(), as: UTF8.self) }
        #expect(renewals == ["grant_type=refresh_token&refresh_token=r0", "grant_type=refresh_token&refresh_token=r1"])
        #expect(kept.refreshTokens == ["r1", "r2"])
    }
}

/// A place that keeps tokens, as a keychain does.
private final class Kept: Sendable {
    private let tokens = Mutex<[TokenSource.Token]>([])
    var refreshTokens: [String] { tokens.withLock { $0.compactMap(\.refresh) } }

    func add(_ token: TokenSource.Token?) {
        if let token { tokens.withLock { $0.append(token) } }
    }

    /// Waits until a token has been kept.
    func waitUntilHas(_ value: String) async {
        while !tokens.withLock({ $0.contains { $0.value == value } }) { await Task.yield() }
    }
}
