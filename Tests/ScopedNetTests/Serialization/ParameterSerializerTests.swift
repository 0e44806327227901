import CleanSlate
import Foundation
import ScopedNet
import Testing

/// Where parameters go: REQ-7, REQ-8, REQ-10, REQ-16.
@Suite(.leavesNothing) struct ParameterSerializerTests {
    private static func text(_ body: RequestBody?) -> String? {
        guard case .data(let data)? = body?.content else { return nil }
        return String(decoding: data, as: UTF8.self)
    }

    // REQ-7, REQ-8: both fall back to the query.
    @Test(arguments: ["GET", "HEAD", "DELETE", "get", "Delete"])
    func theseMethodsHaveThemInTheURL(_ name: String) throws {
        let method = try #require(HTTPRequest.Method(rawValue: name))
        for serializer in [ParameterSerializer.form, .json] {
            let output = try serializer.serialize(["a": [1]], method: method, url: "/p#f")
            #expect(output.url == "/p?a%5B%5D=1#f" && output.body == nil)
            let none = try serializer.serialize(nil, method: method, url: "/p")
            let empty = try serializer.serialize([:], method: method, url: "/p")
            #expect(none.url == "/p" && none.body == nil && empty.url == "/p" && empty.body == nil)
        }
    }

    // REQ-10, YTK-3, defect 9
    @Test func theSetOfMethodsCanBeChosenAndIsCopied() throws {
        var serializer = ParameterSerializer.form
        let before = serializer
        serializer.methodsInURL = [.get, .put]
        let inURL = try serializer.serialize(["a": 1], method: .put, url: "/p")
        let inBody = try serializer.serialize(["a": 1], method: .delete, url: "/p")
        let original = try before.serialize(["a": 1], method: .put, url: "/p")
        #expect(inURL.url == "/p?a=1" && inURL.body == nil)
        #expect(inBody.url == "/p" && Self.text(inBody.body) == "a=1")
        #expect(original.url == "/p" && Self.text(original.body) == "a=1")
        // All that was set is in a copy, and what is done to the copy is not in what was copied.
        serializer.query = .custom { _ in "own" }
        var copy = serializer
        let copied = try copy.serialize(["a": 1], method: .put, url: "/p")
        copy.methodsInURL = []
        let untouched = try serializer.serialize(["a": 1], method: .put, url: "/p")
        #expect(copied.url == "/p?own" && copied.body == nil && untouched.url == "/p?own")
    }

    // REQ-7: nil parameters are an empty form.
    @Test(arguments: [HTTPRequest.Method.post, .put, .patch])
    func formsGoIntoTheBody(_ method: HTTPRequest.Method) throws {
        let output = try ParameterSerializer.form.serialize(["b": "x y", "a": ParameterValue.null], method: method, url: "/p?q")
        #expect(output.url == "/p?q" && Self.text(output.body) == "a&b=x%20y")
        #expect(output.body?.contentType == "application/x-www-form-urlencoded")
        let none = try ParameterSerializer.form.serialize(nil, method: method, url: "/p")
        #expect(Self.text(none.body) == "" && none.body?.contentType == "application/x-www-form-urlencoded")
    }

    // REQ-8
    @Test func jsonGoesIntoTheBodyIfThereIsAny() throws {
        let parameters: Parameters = ["b": [1, 2.5, nil, true] as ParameterValue, "a": ["u": "http://h/"]]
        let output = try ParameterSerializer.json.serialize(parameters, method: .post, url: "/p")
        #expect(Self.text(output.body) == #"{"a":{"u":"http:\/\/h\/"},"b":[1,2.5,null,true]}"#)
        #expect(output.body?.contentType == "application/json")
        let empty = try ParameterSerializer.json.serialize([:], method: .post, url: "/p")
        #expect(Self.text(empty.body) == "{}")
        let none = try ParameterSerializer.json.serialize(nil, method: .post, url: "/p")
        #expect(none.body == nil)
        let plain = try ParameterSerializer.json(formatting: [.withoutEscapingSlashes]).serialize(["u": "a/b"], method: .post, url: "")
        #expect(Self.text(plain.body) == #"{"u":"a/b"}"#)
    }

    // REQ-8: what is no JSON is an error.
    @Test(
        arguments: [
            ["a": .data(Data([1]))], ["a": [.set([1])]], ["a": .double(.nan)], ["a": ["b": .double(.infinity)]],
        ] as [[String: ParameterValue]])
    func whatIsNoJSONIsRefused(_ values: [String: ParameterValue]) {
        let error = #expect(throws: NetworkError.self) {
            try ParameterSerializer.json.serialize(Parameters(values), method: .post, url: "/")
        }
        #expect(error?.code == .invalidParameters)
        #expect(error?.message.contains("not valid JSON") == true)
    }

    // REQ-16: for URL and form alike, and never for nil.
    @Test func aQueryOfOnesOwnServesBoth() throws {
        var serializer = ParameterSerializer.form
        serializer.query = .custom { parameters in "own=\(parameters.values.count)" }
        let url = try serializer.serialize(["a": 1], method: .get, url: "/p")
        let body = try serializer.serialize(["a": 1], method: .post, url: "/p")
        let none = try serializer.serialize(nil, method: .get, url: "/p")
        #expect(url.url == "/p?own=1" && Self.text(body.body) == "own=1" && none.url == "/p")
    }

    // REQ-7: the encoding of the body.
    @Test func formsHaveAnEncoding() throws {
        var serializer = ParameterSerializer.form(encoding: .isoLatin1)
        serializer.query = .custom { _ in "a=é" }
        let output = try serializer.serialize([:], method: .post, url: "/")
        guard case .data(let data)? = output.body?.content else { throw CancellationError() }
        #expect(data == Data([0x61, 0x3D, 0xE9]))
        serializer.query = .custom { _ in "a=€" }
        let refused = serializer
        let error = #expect(throws: NetworkError.self) { try refused.serialize([:], method: .post, url: "/") }
        #expect(error?.code == .invalidParameters)
    }

    @Test func formatsOfOnesOwnAreChecked() throws {
        let lines = ParameterSerializer.custom(contentType: "text/plain") { Data($0.values.keys.sorted().joined(separator: "\n").utf8) }
        let output = try lines.serialize(["b": 1, "a": 2], method: .post, url: "/")
        #expect(Self.text(output.body) == "a\nb" && output.body?.contentType == "text/plain")
        let bad = ParameterSerializer.custom(contentType: "text/plain\r\nX: y") { _ in Data() }
        let error = #expect(throws: NetworkError.self) { try bad.serialize([:], method: .post, url: "/") }
        #expect(error?.code == .invalidHeader)
    }

    @Test func bodiesOfOneLine() throws {
        let form = RequestBody.form(["a": [1, 2]])
        #expect(Self.text(form) == "a%5B%5D=1&a%5B%5D=2" && form.contentType == "application/x-www-form-urlencoded" && form.isReplayable)
        let encoded = RequestBody.form(["a": 1] as [String: Int])
        #expect(Self.text(encoded) == "a=1")
        let json = RequestBody.json(["name": "Anna", "tags": ["a", "b"], "age": 7])
        #expect(Self.text(json) == #"{"age":7,"name":"Anna","tags":["a","b"]}"# && json.contentType == "application/json")
        let dictionary = RequestBody.json(["d": 1, "b": 2, "c": 3, "a": 4] as [String: Int])
        #expect(Self.text(dictionary) == #"{"a":4,"b":2,"c":3,"d":1}"#)
        let typed = RequestBody.json([1, 2, 3])
        #expect(Self.text(typed) == "[1,2,3]" && typed.failure == nil)
        let csv = RequestBody.data(Data("a;b".utf8), contentType: "text/csv")
        #expect(Self.text(csv) == "a;b" && csv.contentType == "text/csv")
    }

    @Test func mistakesInBodiesAreKeptForTheStart() {
        #expect(RequestBody.json(Double.nan).failure?.code == .invalidParameters)
        #expect(RequestBody.form(["a": Double.nan]).failure?.code == .invalidParameters)
        #expect(RequestBody.form([1, 2]).failure?.code == .invalidParameters)
        #expect(RequestBody.data(Data(), contentType: "a\nb").failure?.code == .invalidHeader)
    }
}
