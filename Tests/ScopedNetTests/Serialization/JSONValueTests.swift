import CleanSlate
import FoundationEssentials
@_spi(Transport) import ScopedNet
import ScopedNetTesting
import Testing

@Suite(.leavesNothing) struct JSONValueTests {
    // REQ-21, RES-6
    @Test(
        arguments: [
            (["a": nil, "b": [nil, 1, ["c": nil]], "d": ["e": nil]], ["b": [1, [:]], "d": [:]]), ([nil, [nil]], [[]]), (nil, nil), (1, 1),
        ] as [(JSONValue, JSONValue)])
    func nullsGoAndContainersStay(_ value: JSONValue, _ expected: JSONValue) { #expect(value.removingNulls() == expected) }

    @Test func documentsGoInAndOut() throws {
        let text = #"{"a":[1,-2.5,true,false,null,"é"],"b":{},"c":[],"d":9223372036854775807,"e":1e300}"#
        let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        #expect(
            value == ["a": [1, -2.5, true, false, nil, "é"], "b": [:], "c": [], "d": .integer(.max), "e": 1e300])
        #expect(value["a"]?[5] == "é" && value["a"]?[6] == nil && value["x"] == nil && value[0] == nil && value["a"]?["b"] == nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let again = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(value))
        #expect(again == value)
    }

    // REQ-8
    @Test func parametersBecomeADocument() throws {
        let value = try JSONValue(["a": [nil, 1, true] as ParameterValue, "b": ["c": "d"], "e": 0.5] as Parameters)
        #expect(value == ["a": [nil, 1, true], "b": ["c": "d"], "e": 0.5])
    }

    private static let wrappers: [@Sendable (ParameterValue) -> ParameterValue] = [{ [$0] }, { ["k": $0] }]

    @Test(arguments: wrappers.indices) func theBoundIsTheSameForArraysAndObjects(_ index: Int) throws {
        var value: ParameterValue = 1
        for _ in 1..<512 { value = Self.wrappers[index](value) }
        _ = try JSONValue(["a": value] as Parameters)
        let deep: Parameters = ["a": Self.wrappers[index](value)]
        let error = #expect(throws: NetworkError.self) { try JSONValue(deep) }
        #expect(error?.code == .invalidParameters)
    }

    /// 5,000 levels are more than a stack holds.
    @Test(arguments: [0, 1], [511, 513, 5_000]) func aDocumentTooDeepForAnyDecoderIsNotWritten(_ wrapper: Int, _ levels: Int) throws {
        var value: JSONValue = 1
        for _ in 0..<levels { value = wrapper == 0 ? [value] : ["k": value] }
        if levels == 511 {
            let text = try JSONEncoder().encode(value)
            #expect(try JSONDecoder().decode(JSONValue.self, from: text) == value)
        } else {
            #expect(throws: EncodingError.self) { try JSONEncoder().encode(value) }
            #expect(throws: EncodingError.self) { try JSONEncoder().encode(["inside": value]) }
        }
    }

    // REQ-8
    @Test func aRequestWithADocumentTooDeepFails() async throws {
        var value: JSONValue = 1
        for _ in 0..<5_000 { value = [value] }
        let session = Session(configuration: Session.Configuration(customTransport: MockTransport(), agent: RequestAgent()))
        let request = session.request("http://h/", method: .post, body: .json(value))
        let error = await #expect(throws: NetworkError.self) { try await request.value() }
        #expect(error?.code == .invalidParameters)
        #expect(error?.message.contains("512 levels") == true, "\(String(describing: error))")
    }

    @Test func nestingHasABound() {
        var value: ParameterValue = 1
        for _ in 0..<600 { value = [value] }
        let deep: Parameters = ["a": value]
        let error = #expect(throws: NetworkError.self) { try JSONValue(deep) }
        #expect(error?.code == .invalidParameters)
    }
}
