import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The words of errors, for logs and for people.
@Suite(.leavesNothing) struct ErrorWordsTests {
    private struct Story: Decodable, Sendable { let id: Int }

    private func withMock(
        _ reply: MockReply, base: String? = "http://api.test/v1/", _ change: (inout Session.Configuration) -> Void = { _ in },
        _ body: (Session) async throws -> Void
    ) async throws {
        try await withStage {
            $0.baseURL = base
            change(&$0)
        } _: { session, transport in
            transport.enqueue(reply)
            try await body(session)
        }
    }

    @Test func anErrorNamesItsRequest() async throws {
        try await withMock(.status(404)) { session in
            let error = try await session.get("stories/7?token=hush", as: Story.self).failure()
            #expect(error.url == "http://api.test/v1/stories/7?token=hush" && error.method == .get && error.status == 404)
            #expect("\(error)" == "GET http://api.test/v1/stories/7?token=***: unacceptableStatus: the server answered 404")
        }
    }

    @Test func aDecodingErrorHasItsPlaceStatusAndSize() async throws {
        try await withMock(.json(#"{"id": "hush"}"#)) { session in
            let error = try await session.get("stories/7", as: Story.self).failure()
            #expect(
                "\(error)"
                    == "GET http://api.test/v1/stories/7: decodingFailed: $.id should be of type Int, and is a string (200, 14 bytes)")
        }
    }

    /// The error keeps the beginning of the body alone.
    @Test func theSizeIsThatOfTheWholeBody() async throws {
        let long = #"{"id":""# + String(repeating: "x", count: 100_000) + #""}"#
        try await withMock(.json(long), { $0.errorBodyBytes = 1_000 }) { session in
            let error = try await session.get("stories/7", as: Story.self).failure()
            #expect("\(error)".hasSuffix("(200, 100009 bytes)") && error.body?.count == 1_000, "\(error)")
        }
    }

    @Test func anEmptyContentTypeIsNone() async throws {
        try await withMock(.ok("text").header(.contentType, "")) { session in
            let error = try await session.get("stories/7", as: Story.self).failure()
            #expect(error.code == .unacceptableContentType && error.message.hasPrefix("the server did not say what it sent, "), "\(error)")
        }
    }

    @Test func aRelativeURLWithoutABaseSaysSo() async throws {
        try await withMock(.ok(), base: nil) { session in
            let error = try await session.request("posts").failure()
            #expect(error.code == .invalidURL && error.message == "'posts' is relative, and the session has no base URL")
            #expect(error.url == "posts")
        }
        for text in ["posts?token=hush", "http://h/a b?token=hush"] {
            try await withMock(.ok(), base: nil) { session in
                let error = try await session.request(text).failure()
                #expect(error.code == .invalidURL && !error.message.contains("hush") && !"\(error)".contains("hush"), "\(error)")
            }
        }
    }

    @Test func userAndPasswordAreInNoError() async throws {
        try await withMock(.status(500)) { session in
            let error = try await session.request("http://ann:hunter2@api.test/x").failure()
            #expect(error.url == "http://***@api.test/x" && !"\(error)".contains("hunter2"))
        }
        try await withMock(.ok()) { session in
            let error = try await session.request("http://ann:hun ter2@api.test/x").failure()
            #expect(error.url == nil && !"\(error)".contains("hun"))
        }
    }

    @Test func aCancelSaysWhereItFoundTheRequest() async throws {
        try await withStage { session, transport async throws in
            let bag = DeallocBag()
            let request = session.request("http://api.test/x")
            async let outcome = request.response(in: bag)
            _ = await transport.exchange(0)
            bag.end()
            do {
                _ = try await outcome
                Issue.record("no error")
            } catch let error as NetworkError {
                #expect(error.cancelReason == .ownerReleased)
                #expect("\(error)".hasPrefix("GET http://api.test/x: cancelled while "), "\(error)")
                #expect("\(error)".components(separatedBy: "cancelled").count == 2, "\(error)")
            }
        }
    }

    @Test func theCauseOfAMissingTokenIsSaid() async throws {
        try await withMock(.ok()) { session in
            let tokens = TokenSource { _ in
                throw NetworkError(.unacceptableStatus, phase: .receiving, message: "the server answered 404 Not Found")
            }
            let error = try await session.request("x").options { $0.authentication = .tokens(tokens) }.failure()
            #expect(error.code == .authenticationFailed && error.message.contains("the server answered 404 Not Found"), "\(error)")
        }
    }

    // MARK: For people

    @Test func aPersonReadsSentences() async throws {
        try await withMock(.failing(.nameNotResolved)) { session in
            let error: any Error = try await session.request("x").failure()
            #expect(error.localizedDescription == "The server was not found.")
            #expect((error as? any LocalizedError)?.recoverySuggestion?.contains("spelling") == true)
        }
        try await withMock(.status(503)) { session in
            let error = try await session.request("x").failure()
            #expect(
                error.errorDescription == "The server has a problem (503)." && error.recoverySuggestion == "Try again in a little while.")
        }
    }

    @Test func theServersOwnWordsAreAtHand() async throws {
        var reply = MockReply.json(
            #"{"type":"https://api.test/out-of-credit","title":"No credit","status":403,"detail":"Your balance is 30.","balance":30}"#)
        (reply.status, reply.headers[.contentType]) = (403, "application/problem+json")
        try await withMock(reply) { session in
            let error = try await session.request("x").failure()
            let problem = try #require(error.problem)
            #expect(
                problem.type == "https://api.test/out-of-credit" && problem.status == 403 && problem.extensions["balance"] == .integer(30))
            #expect(error.serverMessage == "Your balance is 30.")
            #expect(
                error.errorDescription == "You do not have permission for this. The server says: Your balance is 30.")
        }
    }

    @Test func aProgramReplacesTheSentences() async throws {
        let before = NetworkError.wording
        defer { NetworkError.wording = before }
        // A code that no other test looks at.
        NetworkError.wording.descriptions[.redirectLoop] = "Die Adresse führt im Kreis."
        try await withMock(.failing(.redirectLoop)) { session in
            let error: any Error = try await session.request("x").failure()
            #expect(error.localizedDescription == "Die Adresse führt im Kreis.")
        }
    }

    private struct Refusal: NetworkError.Document {
        let reason: String
        var message: String? { reason }
    }

    @Test func aSessionNamesItsErrorDocuments() async throws {
        var reply = MockReply.json(#"{"reason":"closed\non Sundays"}"#)
        reply.status = 409
        try await withMock(reply) {
            $0.errorDocument = Refusal.self
        } _: { session in
            let error = try await session.request("x").failure()
            #expect((error.document as? Refusal)?.reason == "closed\non Sundays")
            #expect(error.serverMessage == #"closed\xAon Sundays"#)
        }
        // Not of that kind: nothing is made up.
        try await withMock(.status(409, "<html>")) {
            $0.errorDocument = Refusal.self
        } _: { session in
            let error = try await session.request("x").failure()
            #expect(error.document == nil && error.serverMessage == nil)
        }
    }

    @Test func membersOfAnotherTypeAreIgnored() throws {
        let text = #"{"type":7,"title":["x"],"status":"403","detail":null}"#
        let problem = try JSONDecoder().decode(NetworkError.ProblemDetails.self, from: Data(text.utf8))
        #expect(problem.type == "about:blank" && problem.title == nil && problem.status == nil && problem.message == nil)
    }

    @Test func offlineAndUnreachableAreTold() {
        func error(_ code: NetworkError.Code) -> NetworkError { NetworkError(code, phase: .connecting, message: "") }
        #expect(error(.nameNotResolved).isOffline && error(.nameNotResolved).isServerUnreachable)
        #expect(!error(.connectionRefused).isOffline && error(.connectionRefused).isServerUnreachable)
        #expect(!error(.unacceptableStatus).isServerUnreachable)
    }

    // MARK: Responses

    @Test func aResponseIsOneLine() async throws {
        try await withMock(.json("[\(String(repeating: "1,", count: 800))1]")) { session in
            let response = try await session.request("x").response()
            #expect("\(response)".hasPrefix("200, 1.6 KiB JSON in "), "\(response)")
            #expect("\(response)".hasSuffix(", network"))
            #expect(response.headers[.contentType] == "application/json" && response.text.hasPrefix("[1,1"))
            #expect("\(response.metrics)".contains("in all"))
        }
    }

    /// Retries are attempts; the hops of a redirect are none.
    @Test func attemptsAreRetries() async throws {
        var policy = RetryPolicy.standard
        policy.backoffBase = .zero
        for (replies, words) in [
            ([MockReply.status(503), .status(503), .ok("done")], " (3 attempts), network"),
            ([.redirect(to: "http://h/b"), .ok("done")], "s, network"),
        ] {
            try await withStage { session, transport in
                for reply in replies { transport.enqueue(reply) }
                let response = try await session.request("http://h/a").retry(policy).response()
                #expect("\(response)".hasPrefix("200, 4 B in ") && "\(response)".hasSuffix(words), "\(response)")
                #expect(response.attempts.count == replies.count)
            }
        }
    }

    @Test func metricsAreOneLine() {
        var metrics = TransferMetrics()
        (metrics.httpVersion, metrics.isConnectionReused) = ("2", true)
        (metrics.times.firstByte, metrics.times.total) = (12_000, 41_000)
        (metrics.headerBytesReceived, metrics.bodyBytesReceived, metrics.requestBytes, metrics.bodyBytesSent) = (100, 1_538, 300, 20)
        #expect("\(metrics)" == "HTTP/2, reused connection, first byte after 12 ms, 41 ms in all, 1.6 KiB received, 320 B sent")
    }

    /// Each failure of a transfer names the request that it is of.
    @Test func everyFailureNamesItsRequest() async throws {
        for code in NetworkError.Wording.english.descriptions.keys where code != .cancelled && code != .shutdown {
            try await withMock(.failing(code)) { session in
                let error = try await session.post("stories/7", json: ["a": 1]).failure()
                #expect(error.url == "http://api.test/v1/stories/7" && error.method == .post, "\(code): \(error)")
            }
        }
    }

    @Test func aRequestIsOneLine() async throws {
        try await withStage { session, _ async throws in
            let request = session.request("http://ann:pw@h/x?key=1", method: .post)
            #expect("\(request)" == "POST http://***@h/x?key=*** (not started)")
        }
    }

    @Test(arguments: [
        (0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1638, "1.6 KiB"), (12 << 20, "12 MiB"), (1_048_575, "1 MiB"), (.max, "8 EiB"),
    ])
    func sizes(count: Int64, text: String) { #expect(HumanText.bytes(count) == text) }

    @Test(arguments: [
        (Duration.zero, "0 µs"), (.microseconds(850), "850 µs"), (.milliseconds(12), "12 ms"), (.milliseconds(2_300), "2.3 s"),
        (.microseconds(999_700), "1 s"), (.seconds(185), "3 min 05 s"), (.seconds(-1), "0 µs"), (.seconds(59.97), "1 min 00 s"),
    ])
    func times(duration: Duration, text: String) { #expect(HumanText.time(duration) == text) }
}
