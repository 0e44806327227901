import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

@testable import ScopedNetTesting

/// The decision alone: which route a request takes, and its next reply.
@Suite(.leavesNothing) struct MockRoutesTests {
    private static let base = "http://hn.test/v0/"

    private func routes(_ list: [(HTTPRequest.Method?, String)]) -> MockRoutes {
        var routes = MockRoutes()
        for (method, place) in list { _ = routes.add(method, place, .replies([.ok(place)])) }
        return routes
    }

    private func place(
        _ routes: MockRoutes, _ url: String, _ method: HTTPRequest.Method = .get, base: String? = MockRoutesTests.base
    ) throws -> String? {
        let number = routes.find(method, try RequestURL(url), base: base)
        return routes.routes.first { $0.number == number }?.place
    }

    @Test func placesAreRelativeToTheBaseOrToTheServerOrWhole() throws {
        let routes = routes([(.get, "item/7"), (.get, "/health"), (.get, "https://other.test/x"), (.get, ""), (.get, "Straße")])
        #expect(try place(routes, "http://hn.test/v0/item/7") == "item/7")
        #expect(try place(routes, "http://hn.test/v0/item/7?page=2") == "item/7")
        #expect(try place(routes, "http://hn.test/item/7") == nil)
        #expect(try place(routes, "http://hn.test/health") == "/health")
        #expect(try place(routes, "http://another.test/health") == "/health")
        #expect(try place(routes, "https://other.test/x") == "https://other.test/x")
        #expect(try place(routes, "http://hn.test/v0/") == "")
        #expect(try place(routes, "http://hn.test/v0/Straße") == "Straße")
        #expect(try place(routes, "http://hn.test/v0/stra%C3%9Fe") == nil)
        #expect(try place(routes, "http://h.test/item/7", base: nil) == "item/7")
    }

    @Test func aPlaceIsReadAsTheURLOfARequestIs() throws {
        let routes = routes([(.get, "a b?c=d e"), (.get, "HTTP://Other.test:80/x"), (.get, "http://user:secret@third.test/y")])
        #expect(try place(routes, "http://hn.test/v0/a%20b?c=d%20e") == "a b?c=d e")
        #expect(try place(routes, "http://other.test/x?page=2") == "HTTP://Other.test:80/x")
        #expect(try place(routes, "http://third.test/y") == "http://user:secret@third.test/y")
        #expect(try place(routes, "https://other.test/x") == nil)
    }

    @Test func theCaseOfHexadecimalDigitsIsNone() throws {
        let routes = routes([(.get, "stra%C3%9Fe"), (.get, "a%2fB?c=%e2%ff")])
        #expect(try place(routes, "http://hn.test/v0/stra%c3%9fe?page=2") == "stra%C3%9Fe")
        #expect(try place(routes, "http://hn.test/v0/a%2FB?c=%E2%Ff") == "a%2fB?c=%e2%ff")
        #expect(try place(routes, "http://hn.test/v0/a%2Fb?c=%E2%FF") == nil)
    }

    @Test func theMethodAndTheQueryAreLookedAt() throws {
        let routes = routes([(.post, "x"), (.get, "x?a=1"), (nil, "any")])
        #expect(try place(routes, "http://hn.test/v0/x", .get) == nil)
        #expect(try place(routes, "http://hn.test/v0/x?a=2", .post) == "x")
        #expect(try place(routes, "http://hn.test/v0/x?a=1", .get) == "x?a=1")
        #expect(try place(routes, "http://hn.test/v0/x?a=2", .get) == nil)
        #expect(try place(routes, "http://hn.test/v0/any", .delete) == "any")
    }

    @Test func theMostSpecialOfSeveralIsTaken() throws {
        let list: [(HTTPRequest.Method?, String)] = [
            (.get, "x?a=1"), (nil, "http://hn.test/v0/x"), (.get, "x"), (nil, "x"), (.get, "/v0/x"),
        ]
        #expect(try place(routes(list), "http://hn.test/v0/x?a=1") == "x?a=1")
        #expect(try place(routes(list), "http://hn.test/v0/x") == "http://hn.test/v0/x")
        #expect(try place(routes(Array(list.dropFirst(2))), "http://hn.test/v0/x") == "/v0/x")
        #expect(try place(routes(list.dropFirst(2).reversed()), "http://hn.test/v0/x") == "x")
    }

    @Test func aSequenceEndsWithItsLastReplyAgainAndAgain() throws {
        var routes = MockRoutes()
        #expect(routes.add(.get, "x", .replies([.status(503), .ok("1"), .ok("2")])) == nil)
        let number = try #require(routes.find(.get, RequestURL("http://hn.test/v0/x"), base: Self.base))
        let statuses = (0..<5).map { _ in
            if case .reply(let reply)? = routes.take(number) {
                "\(reply.status) \(String(decoding: reply.body, as: UTF8.self))"
            } else {
                ""
            }
        }
        #expect(statuses == ["503 ", "200 1", "200 2", "200 2", "200 2"])
        #expect(routes.add(.get, "x", .replies([.ok("new")])) != nil)
        #expect(routes.take(number) == nil)
        #expect(routes.add(.get, "x", .replies([])) != nil)
        #expect(routes.routes.isEmpty)
    }

    @Test func theSummaryMasksSecretsAndIsBounded() {
        #expect(MockRoutes().summary == "there are no routes")
        #expect(routes([(.get, "a?token=abc"), (nil, "/b")]).summary.contains("there are routes for GET a?token="))
        #expect(!routes([(.get, "a?token=abc"), (nil, "/b")]).summary.contains("abc"))
        #expect(routes((0..<30).map { (nil, "/\($0)") }).summary.hasSuffix("/19 and 10 more"))
    }

    @Test func aPlaceAloneTakesASequenceOrAClosure() async throws {
        let session = MockTransport.session(Self.base)
        session.mock.on("flaky", [.ok("one"), .ok("two")])
        session.mock.on("echo") { .ok($0.method.rawValue) }
        #expect(try await session.get("flaky", as: String.self).value() == "one")
        #expect(try await session.put("flaky", as: String.self).value() == "two")
        #expect(try await session.delete("echo", as: String.self).value() == "DELETE")
    }
}

@Suite(.leavesNothing) struct MockAnswerTests {
    private struct Story: Codable, Sendable, Equatable {
        var title: String
        var createdAt: Date
    }

    @Test func anUnansweredRequestFailsAndNamesTheRoutes() async throws {
        let session = MockTransport.session("http://hn.test/v0/") { $0.options.retry = .standard }
        session.mock.on(.get, "topstories", .json("[]"))
        session.mock.on("/health", .ok())
        let error = await #expect(throws: NetworkError.self) { try await session.post("topstories", query: ["token": "abc"]).value() }
        #expect(error?.code == .other)
        #expect(error?.method == .post)
        #expect(error?.url == "http://hn.test/v0/topstories?token=abc")
        let message = try #require(error?.message)
        #expect(message.hasPrefix("no answer for POST http://hn.test/v0/topstories?token="))
        #expect(message.hasSuffix("; there are routes for GET topstories, /health"))
        #expect(!message.contains("abc"))
        #expect(session.mock.unansweredRequests.count == 1)
        #expect(session.mock.exchanges.count == 1)
    }

    @Test func waitingIsAskedFor() async {
        let session = MockTransport.session(unanswered: .wait)
        let run = session.request("x").start()
        let exchange = await session.mock.exchange(0)
        #expect(!exchange.isEnded)
        exchange.respond(.ok())
        await session.agent.waitUntilIdle()
        #expect(run.status.stage == .ended)
        #expect(session.mock.unansweredRequests.isEmpty)
    }

    @Test func aSequenceIsRetriedInTheTimeItSays() async throws {
        let clock = ManualClock()
        let session = MockTransport.session {
            $0.use(clock)
            $0.options.retry = .standard
        }
        session.mock.on(.get, "flaky", [.status(503).retryAfter(5), .json(["ok": true])])
        let reading = Task { try await session.get("flaky", as: [String: Bool].self).value() }
        await clock.waitForTimers(1)
        #expect(clock.nextWait == .seconds(5))
        clock.advance(by: .seconds(5))
        #expect(try await reading.value == ["ok": true])
        #expect(session.mock.exchanges.count == 2)
    }

    @Test func valuesAreWrittenByTheCodingOfTheSession() async throws {
        let session = MockTransport.session { $0.json = JSONCoding(keys: .snakeCase, dates: .iso8601) }
        let story = Story(title: "Sea", createdAt: Date(timeIntervalSince1970: 0))
        session.mock.on(.get, "story", .json(story))
        session.mock.on(.get, "text", .json(#"{"a": 1}"#, status: 203))
        session.mock.on(.get, "value", .json(["createdAt": 7, "tags": ["a"]], status: 422))
        #expect(try await session.get("story", as: Story.self).value() == story)
        let text = try await session.send("story")
        #expect(text.text == #"{"created_at":"1970-01-01T00:00:00Z","title":"Sea"}"#)
        #expect(text.headers[.contentType] == "application/json")
        #expect(try await session.send("text").text == #"{"a": 1}"#)
        let error = await #expect(throws: NetworkError.self) { try await session.send("value") }
        #expect(error?.status == 422 && error?.body == Data(#"{"createdAt":7,"tags":["a"]}"#.utf8))
        #expect(MockReply.json(["a": 1]).body == Data(#"{"a":1}"#.utf8))
    }

    @Test func aValueThatDoesNotEncodeFailsItsRequest() async {
        let session = MockTransport.session()
        session.mock.on(.get, "x", .json(Double.infinity))
        let error = await #expect(throws: NetworkError.self) { try await session.send("x") }
        #expect(error?.code == .invalidParameters)
    }

    @Test func aDelayIsOnTheClockOfTheSessionAndEndsWithTheRequest() async throws {
        let clock = ManualClock()
        let session = MockTransport.session { $0.use(clock) }
        session.mock.on(.get, "slow", .ok("late").after(.seconds(2)))
        session.mock.on(.get, "broken", .failing(.connectionLost).after(.seconds(1)))
        let slow = Task { try await session.send("slow").text }
        await clock.waitForTimers(1)
        clock.advance(by: .milliseconds(1_999))
        #expect(session.mock.exchanges.allSatisfy { !$0.isEnded })
        clock.advance(by: .milliseconds(1))
        #expect(try await slow.value == "late")
        let broken = Task { try await session.send("broken") }
        await clock.waitForTimers(1)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: NetworkError.self) { try await broken.value }
        #expect(error?.code == .connectionLost)
        let run = session.request("slow").start()
        await clock.waitForTimers(1)
        run.cancel()
        await session.agent.waitUntilIdle()
        let cancelled = session.mock.exchanges[2]
        while !cancelled.isEnded { await Task.yield() }
        await cancelled.settle()
        #expect(clock.armedCount == 0)
    }

    @Test func aClosureAnswersARoute() async throws {
        let session = MockTransport.session()
        session.mock.on(.post, "echo") { MockReply(body: $0.body ?? Data()).header(.eTag, "\"1\"") }
        let response = try await session.send("echo", method: .post, body: .data(Data("x".utf8)))
        #expect(response.text == "x" && response.headers[.eTag] == "\"1\"")
    }

    @Test func derivedSessionsShareTheMock() async throws {
        let session = MockTransport.session("http://hn.test/v0/")
        let admin = session.with { $0.baseURL = "http://hn.test/admin/" }
        session.mock.on(.get, "users", .ok("relative"))
        #expect(admin.mock === session.mock)
        #expect(try await admin.send("users").text == "relative")
        #expect(session.mock.exchanges.first?.url == "http://hn.test/admin/users")
    }
}
