import CleanSlate
import Foundation
@_spi(Transport) import ScopedNet
import ScopedNetTesting
import Testing

/// Variables as values of queries, forms and JSON, beside literals: what programs write most compiles, and arrives.
@Suite(.leavesNothing) struct VariableValuesTests {
    private enum Order: String, Codable, Sendable { case newest }
    private struct Size: Codable, Sendable {
        var width = 3
        var height: Int?
    }

    private let text = "a b&c"
    private let page = 7
    private let ratio = 0.5
    private let isDraft = true
    private let small = UInt8(255)
    private let large = UInt64.max
    private let tags = ["sea", "sun"]
    private let since = Date(timeIntervalSince1970: 1_000_000_000)
    private let id = UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF")
    private let site = URL(string: "http://h/p")
    private let author: String? = nil
    private let limit: Int? = 10

    private func query(_ parameters: Parameters) throws -> String {
        try QuerySerializer.standard.string(from: parameters).replacing("%5B", with: "[").replacing("%5D", with: "]")
    }

    @Test func aQueryTakesVariables() throws {
        let written = try query(["q": text, "page": page, "tags": tags, "since": since, "by": author])
        #expect(written == "page=7&q=a%20b%26c&since=2001-09-09T01%3A46%3A40Z&tags[]=sea&tags[]=sun")
    }

    @Test func aQueryTakesEveryTypeThatHasAText() throws {
        let id = try #require(id)
        let site = try #require(site)
        let written = try query([
            "id": id, "site": site, "order": Order.newest, "small": small, "large": large, "ratio": ratio, "draft": isDraft, "limit": limit,
        ])
        #expect(
            written == "draft=1&id=6F9619FF-8B86-D011-B42D-00C04FC964FF&large=18446744073709551615&limit=10&order=newest&ratio=0.5"
                + "&site=http%3A//h/p&small=255")
    }

    @Test func expressionsAndLiteralsStandBesideEachOther() throws {
        let written = try query([
            "next": page + 1, "upper": tags.map { $0.uppercased() }, "mode": isDraft ? "draft" : "final", "n": 2, "x": 1.5, "on": true,
            "size": Size(), "pair": ["a": page],
        ])
        #expect(written == "mode=draft&n=2&next=8&on=1&pair[a]=7&size[width]=3&upper[]=SEA&upper[]=SUN&x=1.5")
    }

    @Test func aNilLeavesItsNameOutAndANullKeepsIt() throws {
        let nested: String?? = .some(nil)
        let written = try query(["a": author, "b": nil, "c": nested, "d": ParameterValue.null, "e": limit])
        #expect(written == "d&e=10")
        let later = try query(["a": 1, "a": author])
        #expect(later.isEmpty)
    }

    @Test func valuesOfSeveralTypesAreAList() throws {
        let written = try query(["list": [1, "two", ParameterValue(page), ParameterValue(text), nil] as ParameterValue])
        #expect(written == "list[]=1&list[]=two&list[]=7&list[]=a%20b%26c&list[]")
    }

    @Test func unlabelledInitializersTakeVariables() {
        let values = [
            ParameterValue(text), ParameterValue(page), ParameterValue(large), ParameterValue(ratio), ParameterValue(isDraft),
            ParameterValue(text.prefix(1)), ParameterValue(Data([1])),
        ]
        #expect(values == ["a b&c", 7, "18446744073709551615", 0.5, true, "a", .data(Data([1]))])
        let documents = [
            JSONValue(text), JSONValue(page), JSONValue(small), JSONValue(ratio), JSONValue(isDraft), JSONValue([JSONValue(page)]),
            JSONValue(["a": JSONValue(text)]),
        ]
        #expect(documents == ["a b&c", 7, 255, 0.5, true, [7], ["a": "a b&c"]])
        #expect(JSONValue(large) == .double(18_446_744_073_709_551_616))
    }

    private struct Unwritable: Encodable, Sendable {
        struct Reason: Error {}
        func encode(to encoder: any Encoder) throws { throw Reason() }
    }

    @Test func whatCannotBeEncodedFailsWhereItIsWritten() async throws {
        let parameters: Parameters = ["a": 1, "b": Unwritable()]
        let writings: [() throws -> Void] = [
            { _ = try QuerySerializer.standard.string(from: parameters) }, { _ = try JSONValue(parameters) },
            { _ = try ParameterSerializer.json.serialize(parameters, method: .post, url: "/") },
            {
                var form = MultipartForm()
                try form.add(parameters)
            },
        ]
        for write in writings {
            let error = #expect(throws: NetworkError.self) { try write() }
            #expect(error?.code == .invalidParameters && error?.underlying is Unwritable.Reason)
        }
        let session = Session(configuration: .init(customTransport: MockTransport { _ in .ok() }, agent: RequestAgent()))
        let requests = [
            session.get("http://h/", query: ["b": Unwritable()]), session.post("http://h/", body: .form(["b": Unwritable()])),
            session.post("http://h/", body: .json(["b": Unwritable()])),
        ]
        for request in requests {
            let error = await #expect(throws: NetworkError.self) { try await request.value() }
            #expect(error?.code == .invalidParameters && error?.phase == .preparing)
        }
    }

    @Test func bodiesTakeVariables() throws {
        let form = RequestBody.form(["title": text, "n": page, "by": author])
        #expect(Self.text(form) == "n=7&title=a%20b%26c")
        let oneType = RequestBody.form(["by": author])
        #expect(Self.text(oneType) == "")
        let json = RequestBody.json(["title": text, "n": page, "by": author, "at": Size()])
        #expect(Self.text(json) == #"{"at":{"width":3},"by":null,"n":7,"title":"a b&c"}"#)
        let nested = RequestBody.json(["user": ["name": text, "age": page] as JSONLiteral, "list": [page, text] as JSONLiteral])
        #expect(Self.text(nested) == #"{"list":[7,"a b&c"],"user":{"age":7,"name":"a b&c"}}"#)
        let literal = RequestBody.json(["list": [1, "two", nil], "user": ["name": "Anna", "age": 7]])
        #expect(Self.text(literal) == #"{"list":[1,"two",null],"user":{"age":7,"name":"Anna"}}"#)
    }

    private static func text(_ body: RequestBody) -> String? {
        guard case .data(let data) = body.content else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    // MARK: Any value

    /// Hides that a value is one, so that the encoder walks through it.
    private struct Walked: Encodable {
        let value: ParameterValue
        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    private static func value(depth: Int, _ random: inout SeededGenerator) -> ParameterValue {
        switch Int.random(in: 0..<(depth > 4 ? 5 : 7), using: &random) {
        case 0: .null
        case 1: .bool(.random(using: &random))
        case 2: .integer(.random(in: .min ... .max, using: &random))
        case 3: .double(.random(in: -1e9...1e9, using: &random))
        case 4: .string(String(decoding: (0..<4).map { _ in UInt8.random(in: 0...255, using: &random) }, as: UTF8.self))
        case 5: .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth + 1, &random) })
        default: .object(members(depth: depth + 1, &random))
        }
    }

    private static func members(depth: Int, _ random: inout SeededGenerator) -> [String: ParameterValue] {
        var members: [String: ParameterValue] = [:]
        for name in ["a", "b c", "é"] where Bool.random(using: &random) { members[name] = value(depth: depth, &random) }
        return members
    }

    @Test(arguments: 0..<200) func anyValueIsTheSameByEveryWay(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let value = Self.value(depth: 0, &random)
        let (direct, walked): (Parameters, Parameters) = (["v": value], ["v": Walked(value: value)])
        #expect(direct.values == ["v": value] && walked == direct)
        let encoder = JSONEncoder()
        let document = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(["v": value]))
        let literal = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(["v": value] as JSONLiteral))
        let sent = try JSONDecoder().decode(JSONValue.self, from: encoder.encode(JSONValue(direct)))
        #expect(document == sent && literal == sent)
    }
}
