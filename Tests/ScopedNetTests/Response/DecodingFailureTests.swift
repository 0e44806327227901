import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct DecodingFailureTests {
    private struct Story: Decodable, Sendable {
        var id: Int
        var tags: [String]
    }

    private func message(_ json: String) -> String {
        do {
            _ = try JSONDecoder().decode([String: [Story]].self, from: Data(json.utf8))
            return "decoded"
        } catch { return DecodingFailure.message(for: error, body: Data(json.utf8)) }
    }

    @Test(arguments: [
        (#"{"stories":[{"id":"hush","tags":[]}]}"#, "$.stories[0].id should be of type Int, and is a string"),
        (#"{"stories":[{"id":1,"tags":[]},{"id":2}]}"#, "$.stories[1].tags is missing"),
        (#"{"stories":[{"id":1,"tags":["a",null]}]}"#, "$.stories[0].tags[1] should be of type String, and is null"),
        // Foundation says no place where a number does not fit.
        (#"{"stories":[{"id":3.5,"tags":[]}]}"#, "a number does not fit into its type"),
        (#"{"stories":[{"id":99999999999999999999,"tags":[]}]}"#, "a number does not fit into its type"),
        (#"{"stories":"#, "the body is not valid JSON: it ends too early"),
        ("{\"stories\":\n [hush]}", "the body is not valid JSON at line 2, column 3"),
        ("", "the body is not valid JSON: it ends too early"),
        // Foundation says of a number that is none to the processor what it says of a text that is no JSON.
        (#"{"stories":[{"id":1e400,"tags":[]}]}"#, "a number does not fit into its type"),
        (#"{"stories":[{"id":1,"tags":[7]}]}"#, "$.stories[0].tags[0] should be of type String, and is a number"),
        (#"{"stories":[{"id":true,"tags":[]}]}"#, "$.stories[0].id should be of type Int, and is a boolean"),
        (#"{"stories":{"id":1}}"#, "$.stories should be an array, and is an object"),
        (#"{"stories":null}"#, "$.stories should be an array, and is null"),
        (#"{"stories":["hush"]}"#, "$.stories[0] should be an object, and is a string"),
        ("[]", "$ should be an object, and is an array"),
    ])
    func thePlaceIsNamedAndNoValue(_ json: String, _ expected: String) { #expect(message(json) == expected) }

    @Test func aPropertyListThatIsNoneIsSaidToBe() {
        let body = Data("<plist><dict>".utf8)
        let error = #expect(throws: DecodingError.self) { try PropertyListDecoder().decode([String].self, from: body) }
        #expect(error.map { DecodingFailure.message(for: $0, body: body) } == "the body is not a valid property list")
    }

    @Test func aValueThatIsTheWholeBodyIsNamed() {
        enum Colour: String, Decodable { case red }
        let body = Data(#""hush""#.utf8)
        let error = #expect(throws: DecodingError.self) { try JSONDecoder().decode(Colour.self, from: body) }
        #expect(error.map { DecodingFailure.message(for: $0, body: body) } == "$ cannot be read as the value that is expected there")
    }

    @Test func eachDecoderOfSeveralSaysWhatItMissed() async throws {
        let transport = MockTransport { _ in .json(#"{"id":"hush"}"#) }
        let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
        let decoder = ResponseDecoder.first(of: .json(Story.self), ResponseDecoder.json([Story].self).map { $0[0] })
        let error = try await session.get("http://h/", decoder: decoder).failure()
        let each = ["decoder 1: $.id should be of type Int, and is a string", "decoder 2: $ should be an array, and is an object"]
        #expect(error.message == each.joined(separator: "; "))
    }

    /// Its words may quote the body.
    @Test func anErrorOfTheProgramsOwnIsNamedByItsType() async throws {
        struct Hush: Error, CustomStringConvertible { let description = "hush" }
        let session = Session(configuration: .init(customTransport: MockTransport { _ in .json("{}") }, agent: RequestAgent()))
        let error = try await session.get("http://h/", decoder: ResponseDecoder<Int> { _, _ in throw Hush() }).failure()
        #expect(error.message == "the body is not what was expected: the decoder threw Hush" && error.underlying is Hush)
    }

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
