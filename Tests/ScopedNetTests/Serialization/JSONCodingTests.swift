import CleanSlate
import Foundation
import Persistence
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// The JSON coding of a session: values, bodies and error documents are read and written by it, unless a call names another.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct JSONCodingTests {
    private struct Story: Codable, Sendable, Equatable {
        var storyTitle: String
        var createdAt: Date
    }
    private struct Problem: Codable, Sendable, Equatable { var errorCode: Int }

    private static let text = #"{"created_at":"2001-09-09T01:46:40Z","story_title":"Sea"}"#
    private static let declared = #"{"createdAt":21692800,"storyTitle":"Sea"}"#
    private let story = Story(storyTitle: "Sea", createdAt: Date(timeIntervalSince1970: 1_000_000_000))

    private func session(
        _ transport: MockTransport, json: JSONCoding = JSONCoding(keys: .snakeCase, dates: .iso8601)
    ) -> Session {
        var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
        configuration.json = json
        configuration.baseURL = "http://h/"
        return Session(configuration: configuration)
    }

    private func bodies(_ transport: MockTransport) -> [String] {
        transport.exchanges.map { String(decoding: $0.body ?? Data(), as: UTF8.self) }
    }

    @Test func everyFormOfAValueIsReadByIt() async throws {
        let session = session(MockTransport { _ in .json(Self.text) })
        let got = try await session.get("s", as: Story.self).value()
        let posted = try await session.post("s", as: Story.self).value()
        let decoded = try await session.request("s", decoder: .json(Story.self)).value()
        let mapped = try await session.request("s", decoder: ResponseDecoder.json(Story.self).map(\.storyTitle)).value()
        let first = try await session.request("s", decoder: .first(of: ResponseDecoder.json(Problem.self).map { _ in story }, .json()))
            .value()
        let uploaded = try await session.upload("s", from: Data("x".utf8), decoder: .json(Story.self)).value()
        #expect([got, posted, decoded, first, uploaded] == Array(repeating: story, count: 5) && mapped == "Sea")
    }

    @Test func aCallsOwnDecoderGoesFirst() async throws {
        let session = session(MockTransport { _ in .json(Self.declared) })
        let value = try await session.request("s", decoder: .json(Story.self, decoder: { JSONDecoder() })).value()
        #expect(value == story)
    }

    @Test func everyJSONBodyIsWrittenByIt() async throws {
        let transport = MockTransport { _ in .ok() }
        let session = session(transport)
        _ = try await session.post("s", body: .json(story)).value()
        _ = try await session.request("s", method: .put, body: .json(story)).value()
        _ = try await session.post("s", body: .json(["myStory": story, "at": story.createdAt])).value()
        _ = try await session.post("s", body: .json(story, encoder: { JSONEncoder() })).value()
        let sent = bodies(transport)
        #expect(sent.prefix(2) == [Self.text, Self.text])
        // The names of a literal are as written.
        #expect(sent[2] == #"{"at":"2001-09-09T01:46:40Z","myStory":\#(Self.text)}"#)
        #expect(sent[3].contains("createdAt") && sent[3].contains("storyTitle"))
        #expect(transport.exchanges.allSatisfy { $0.headers[.contentType] == "application/json" })
    }

    @Test func theSameBodyGoesToSessionsOfOtherCodings() async throws {
        let transport = MockTransport { _ in .ok() }
        let body = RequestBody.json(story)
        _ = try await session(transport).post("s", body: body).value()
        _ = try await session(transport, json: .standard).post("s", body: body).value()
        #expect(bodies(transport) == [Self.text, Self.declared])
    }

    @Test func anErrorDocumentIsReadByIt() async throws {
        let problem = #"{"error_code":17}"#
        let session = session(MockTransport { _ in MockReply(status: 422, body: Data(problem.utf8)) })
        let error = await #expect(throws: NetworkError.self) { try await session.get("s", as: Story.self).value() }
        #expect(error?.decoded(as: Problem.self) == Problem(errorCode: 17))
        #expect(error?.decoded(as: Problem.self, decoder: { JSONDecoder() }) == nil)
        #expect(try error?.decoded(by: .json(Problem.self)) == Problem(errorCode: 17))
    }

    @Test func whatCouldNotBeDecodedIsReadByItToo() async throws {
        let session = session(MockTransport { _ in .json(#"{"error_code":17}"#) })
        let error = await #expect(throws: NetworkError.self) { try await session.get("s", as: Story.self).value() }
        #expect(error?.code == .decodingFailed && error?.message == "$.storyTitle is missing")
        #expect(error?.decoded(as: Problem.self) == Problem(errorCode: 17))
    }

    @Test func aStoredResponseIsReadByIt() async throws {
        let reply = MockReply(headers: [.contentType: "application/json", .cacheControl: "max-age=60"], body: Data(Self.text.utf8))
        let folder = TemporaryFolder()
        let cache = ResponseCache(StoreConfiguration(directory: folder.path))
        let session = session(MockTransport { _ in reply }).with { $0.cache = cache }
        let first = try await session.get("s", as: Story.self).response()
        let second = try await session.get("s", as: Story.self).response()
        #expect(first.source == .network && second.source == .cache)
        #expect(first.value == story && second.value == story)
        await cache.store.close()
    }

    @Test func aDerivedSessionHasItsOwn() async throws {
        let session = session(MockTransport { _ in .json(Self.text) })
        let plain = session.with { $0.json = .standard }
        let value = try await session.get("s", as: Story.self).value()
        let error = await #expect(throws: NetworkError.self) { try await plain.get("s", as: Story.self).value() }
        #expect(value == story && error?.code == .decodingFailed)
    }

    @Test func factoriesOfOnesOwnAreAsked() async throws {
        let json = JSONCoding {
            let decoder = JSONDecoder()
            decoder.dateDecodingStrategy = .secondsSince1970
            return decoder
        } encoder: {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.dateEncodingStrategy = .secondsSince1970
            return encoder
        }
        let transport = MockTransport { _ in .json(#"{"createdAt":1000000000,"storyTitle":"Sea"}"#) }
        let session = session(transport, json: json)
        let value = try await session.post("s", body: .json(["url": "a/b"]), as: Story.self).value()
        #expect(value == story && bodies(transport) == [#"{"url":"a/b"}"#])
    }

    @Test func aDocumentWithoutATypeKeepsItsNames() async throws {
        let session = session(MockTransport { _ in .json(Self.text) })
        let value = try await session.request("s", decoder: .json(["story_title": .string])).value()
        #expect(value == ["created_at": "2001-09-09T01:46:40Z", "story_title": "Sea"])
    }

    private static let forms: [(JSONCoding.Dates, String)] = [
        (.deferred, "21692800"), (.iso8601, #""2001-09-09T01:46:40Z""#), (.secondsSince1970, "1000000000"),
        (.millisecondsSince1970, "1000000000000"),
        (
            .custom(
                decode: { _ in Date(timeIntervalSince1970: 1_000_000_000) },
                encode: { _, encoder in
                    var container = encoder.singleValueContainer()
                    try container.encode("then")
                }), #""then""#
        ),
    ]

    @Test(arguments: forms.indices) func datesHaveForms(_ index: Int) throws {
        let (dates, text) = Self.forms[index]
        let coding = JSONCoding(dates: dates)
        let written = String(decoding: try coding.encoder().encode([story.createdAt]), as: UTF8.self)
        #expect(written == "[\(text)]")
        let read = try coding.decoder().decode([Date].self, from: Data(written.utf8))
        #expect(read == [story.createdAt])
    }

    @Test func datesAreReadWithAFractionToo() throws {
        let decoder = JSONCoding(dates: .iso8601).decoder()
        let dates = try decoder.decode([Date].self, from: Data(#"["2001-09-09T01:46:40.500Z","2001-09-09T03:46:40+02:00"]"#.utf8))
        #expect(dates.map(\.timeIntervalSince1970) == [1_000_000_000.5, 1_000_000_000])
        #expect(throws: DecodingError.self) { try decoder.decode([Date].self, from: Data(#"["yesterday"]"#.utf8)) }
    }
}
