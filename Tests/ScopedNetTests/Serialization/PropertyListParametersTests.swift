import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetFoundation
import Testing

/// REQ-9
@Suite(.leavesNothing) struct PropertyListParametersTests {
    @Test(arguments: [HTTPRequest.Method.get, .head, .delete])
    func theseMethodsHaveThemInTheURL(_ method: HTTPRequest.Method) throws {
        let output = try ParameterSerializer.propertyList().serialize(["a": [1]], method: method, url: "/p")
        #expect(output.url == "/p?a%5B%5D=1" && output.body == nil)
    }

    @Test func propertyListsGoIntoTheBody() throws {
        let parameters: Parameters = ["n": 1, "d": 0.5, "b": true, "s": "<&>", "x": Data([1, 2]), "l": ["a"]]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let output = try ParameterSerializer.propertyList(format).serialize(parameters, method: .post, url: "/")
            #expect(output.body?.contentType == "application/x-plist")
            guard case .data(let data)? = output.body?.content else { throw CancellationError() }
            var found = PropertyListSerialization.PropertyListFormat.openStep
            let list = try PropertyListSerialization.propertyList(from: data, format: &found)
            let members = try #require(list as? [String: Any])
            #expect(found == format && members.count == 6)
            #expect(members["n"] as? Int == 1 && members["d"] as? Double == 0.5 && members["b"] as? Bool == true)
            #expect(members["s"] as? String == "<&>" && members["x"] as? Data == Data([1, 2]) && members["l"] as? [String] == ["a"])
        }
        let none = try ParameterSerializer.propertyList().serialize(nil, method: .post, url: "/")
        #expect(none.body == nil)
    }

    @Test(arguments: [["a": nil], ["a": .set([1])], ["a": [.double(.nan)]]] as [[String: ParameterValue]])
    func whatIsNoPropertyListIsRefused(_ values: [String: ParameterValue]) {
        let error = #expect(throws: NetworkError.self) {
            try ParameterSerializer.propertyList().serialize(Parameters(values), method: .post, url: "/")
        }
        #expect(error?.code == .invalidParameters && error?.underlying != nil)
    }

    /// The parameters themselves are the first level.
    @Test(arguments: [false, true]) func nestingHasABound(isObject: Bool) throws {
        func nested(_ levels: Int) -> Parameters {
            ["a": (0..<levels).reduce(ParameterValue.integer(1)) { value, _ in isObject ? .object(["b": value]) : .array([value]) }]
        }
        let deepest = try ParameterSerializer.propertyList().serialize(nested(511), method: .post, url: "/")
        #expect(deepest.body != nil)
        #expect(throws: NetworkError.self) { try ParameterSerializer.propertyList().serialize(nested(512), method: .post, url: "/") }
    }

    @Test func encodablePropertyListsAreBodiesToo() throws {
        let body = try RequestBody.propertyList(["a": 1])
        guard case .data(let data) = body.content else { throw CancellationError() }
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains("<key>a</key>") && text.contains("<integer>1</integer>") && body.contentType == "application/x-plist")
    }
}
