import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Values that may be missing: bytes and text are the body as it is, and an empty body is nil.
@Suite(.leavesNothing, .timeLimit(.minutes(3)))
struct OptionalValueTests {
    private struct Item: Codable, Sendable, Equatable { var id: Int }

    private func withBodies(_ test: (House, Session) async throws -> Void) async throws {
        try await withHouse { house async throws in
            house.server.on("/text", .ok("Dear Ann"))
            house.server.on("/json", .json(#""aGk=""#))
            house.server.on("/null", .json("null"))
            house.server.on("/latin", ScriptedResponse.ok(.bytes([0xFC])).header("Content-Type", "text/plain; charset=ISO-8859-1"))
            house.server.on("/empty", .ok(""))
            house.server.on("/none", .status(204))
            try await test(house, house.session.with { $0.baseURL = house.url("/") })
        }
    }

    @Test func optionalTextIsTheText() async throws {
        try await withBodies { _, session async throws in
            #expect(try await session.get("text", as: String?.self).value() == "Dear Ann")
            #expect(try await session.get("json", as: String?.self).value() == #""aGk=""#)
            #expect(try await session.get("null", as: String?.self).value() == "null")
            #expect(try await session.get("latin", as: String?.self).value() == "ü")
        }
    }

    @Test func optionalDataAreTheBytes() async throws {
        try await withBodies { _, session async throws in
            #expect(try await session.get("text", as: Data?.self).value() == Data("Dear Ann".utf8))
            #expect(try await session.get("json", as: Data?.self).value() == Data(#""aGk=""#.utf8))
            #expect(try await session.post("json", json: ["a": 1], as: Data?.self).value() == Data(#""aGk=""#.utf8))
            #expect(try await session.upload("text", from: Data("x".utf8), as: Data?.self).value() == Data("Dear Ann".utf8))
        }
    }

    @Test func anEmptyBodyIsNil() async throws {
        try await withBodies { _, session async throws in
            for path in ["empty", "none"] {
                #expect(try await session.get(path, as: String?.self).value() == nil, "\(path)")
                #expect(try await session.get(path, as: Data?.self).value() == nil, "\(path)")
                #expect(try await session.delete(path, as: String?.self).value() == nil, "\(path)")
                #expect(try await session.request(path, method: .put, as: Data?.self).value() == nil, "\(path)")
                #expect(try await session.get(path, as: Item?.self).value() == nil, "\(path)")
                #expect(try await session.get(path, as: String.self).value().isEmpty, "\(path)")
            }
        }
    }

    @Test func noTypeIsAskedFor() async throws {
        try await withBodies { house, session async throws in
            _ = try await session.get("text", as: String?.self).value()
            _ = try await session.get("text", as: Data?.self).value()
            #expect(house.server.requests.map { $0["accept"] ?? "*/*" } == ["*/*", "*/*"])
        }
    }

    /// A JSON value of these types is asked for by its decoder, as it is without the question mark.
    @Test func aDecoderReadsTheJSON() async throws {
        try await withBodies { _, session async throws in
            #expect(try await session.get("json", decoder: .json(String?.self)).value() == "aGk=")
            #expect(try await session.get("json", decoder: .json(Data?.self)).value() == Data("hi".utf8))
            #expect(try await session.get("null", decoder: .json(String?.self)).value() == nil)
        }
    }
}
