import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct DecodingFailureTests {
    private struct Story: Decodable, Sendable {
        var id: Int
        var tags: [String]
    }

    private func message(_ json: String) -> String {
        do {
            _ = try JSONDecoder().decode([String: [Story]].self, from: Data(json.utf8))
            return "decoded"
        } catch { return DecodingFailure.message(for: error) }
    }

    @Test(arguments: [
        (#"{"stories":[{"id":"hush","tags":[]}]}"#, "$.stories[0].id should be of type Int, and is a string"),
        (#"{"stories":[{"id":1,"tags":[]},{"id":2}]}"#, "$.stories[1].tags is missing"),
        (#"{"stories":[{"id":1,"tags":["a",null]}]}"#, "$.stories[0].tags[1] should be of type String, and is null"),
        // Foundation says no place where a number does not fit.
        (#"{"stories":[{"id":3.5,"tags":[]}]}"#, "the body is not what was expected"),
        (#"{"stories":"#, "the body is not what was expected"),
    ])
    func thePlaceIsNamedAndNoValue(_ json: String, _ expected: String) { #expect(message(json) == expected) }

    @Test func aHostileNameIsCutShort() {
        let json = #"{"\#(String(repeating: "x", count: 100_000))":[{"id":1}]}"#
        #expect(message(json).unicodeScalars.count == 400)
    }

    @Test func thePrintedErrorNamesThePlace() async throws {
        let transport = MockTransport { _ in .json(#"{"users":[{"name":null}]}"#) }
        let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
        let shape: JSONShape = ["users": .array(of: ["name": .required(.string)])]
        let error = await #expect(throws: NetworkError.self) {
            try await session.request("http://h/", decoder: .json(shape)).value()
        }
        #expect(error?.description == "GET http://h/: decodingFailed: $.users[0].name should be a string, and is null (200, 25 bytes)")
    }
}
