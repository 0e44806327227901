import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// RES-1: what becomes of a response.
@Suite(.leavesNothing) struct ResponseDecoderTests {
    private struct Post: Codable, Sendable, Equatable { var title: String }

    private func head(_ type: String?, status: Int = 200) -> ResponseHead {
        ResponseHead(status: status, headers: type.map { [.contentType: $0] } ?? [:])
    }

    private func value<Value>(_ decoder: ResponseDecoder<Value>, _ text: String, type: String? = nil) throws -> Value {
        try decoder.make(head(type), Data(text.utf8))
    }

    // RES-5
    @Test(arguments: ["", " ", "\n\t \r"]) func anEmptyJSONBodyIsNothing(text: String) throws {
        #expect(try value(.json(Post?.self), text) == nil)
        #expect(try value(.json(JSONValue.self), text) == .null)
        #expect(try value(.json(), text) == JSONValue.null)
        let error = #expect(throws: NetworkError.EmptyBody.self) { try value(.json(Post.self), text) }
        #expect(error?.description.contains("Post?") == true)
    }

    // RES-5
    @Test(arguments: [
        ("application/json", true), ("text/json", true), ("text/javascript; charset=utf-8", true), ("application/problem+json", true),
        ("text/html", false), ("text/plain", false),
    ]) func jsonHasSeveralTypes(type: String, isRead: Bool) {
        for expected in [ResponseDecoder<Post>.json().any.types, ResponseDecoder<JSONValue>.json(.any).any.types] {
            let accepts = ContentTypeValidation.automatic.accepts(type, status: 200, isEmpty: false, expected: expected)
            #expect(accepts == isRead)
        }
    }

    @Test func jsonIsDecoded() throws {
        #expect(try value(.json(Post.self), #"{"title":"x"}"#) == Post(title: "x"))
        #expect(try value(.json(Int.self), "7") == 7)
        #expect(throws: (any Error).self) { try value(.json(Post.self), #"{"title":"#) }
    }

    // RES-5, RES-6
    @Test func theDynamicDocument() throws {
        #expect(try value(.json(), #"{"a":[1,null]}"#) == ["a": [1, nil]])
        #expect(try value(.json(removesNulls: true), #"{"a":[1,null],"b":null}"#) == ["a": [1]])
        #expect(try value(.json(), "7") == 7)
        #expect(throws: JSONShape.ShapeError.self) { try value(.json(allowsFragments: false), "7") }
        #expect(try value(.json(allowsFragments: false), "[]") == [])
        #expect(throws: JSONShape.ShapeError.self) { try value(.json(["a": .string]), #"{"a":1}"#) }
        #expect(try value(.json(["a": .number]), #"{"a":1}"#) == ["a": 1])
    }

    // RES-7
    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
    func propertyListsOfBothKinds(format: PropertyListSerialization.PropertyListFormat) throws {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = format
        let body = try encoder.encode(Post(title: "x"))
        #expect(try ResponseDecoder.propertyList(Post.self).make(head(nil), body) == Post(title: "x"))
        #expect(try ResponseDecoder.propertyList(Post?.self).make(head(nil), Data()) == nil)
        #expect(throws: NetworkError.EmptyBody.self) { try ResponseDecoder.propertyList(Post.self).make(head(nil), Data()) }
        #expect(throws: (any Error).self) { try ResponseDecoder.propertyList(Post.self).make(head(nil), Data("no".utf8)) }
    }

    @Test func textIsReadAsItsCharsetSays() throws {
        #expect(try ResponseDecoder.text.make(head("text/plain; charset=\"iso-8859-1\""), Data([0xE9])) == "é")
        #expect(try ResponseDecoder.text.make(head("text/plain"), Data("é".utf8)) == "é")
        #expect(try ResponseDecoder.text(default: "windows-1252").make(head("text/plain"), Data([0xE9])) == "é")
        #expect(try ResponseDecoder.text(default: "latin1").make(head("text/plain; charset=utf-8"), Data("é".utf8)) == "é")
    }

    @Test func theFirstThatCanMakesTheValue() throws {
        let decoder = ResponseDecoder<String>.first(of: ResponseDecoder.json(Post.self).map { $0.title }, .text)
        #expect(try value(decoder, #"{"title":"x"}"#, type: "application/json") == "x")
        #expect(try value(decoder, "plain", type: "text/plain") == "plain")
        #expect(try value(decoder, #"{"title":"x"}"#, type: "text/plain") == #"{"title":"x"}"#)
        #expect(decoder.any.types == nil)
    }

    // RES-10
    @Test func ofSeveralThatCannotAllAreHeard() throws {
        let decoder = ResponseDecoder<Post>.first(of: .json(), .propertyList(), ResponseDecoder { _, _ in throw CancellationError() })
        let error = #expect(throws: NetworkError.CompoundDecoding.self) { try value(decoder, "<html>", type: "application/json") }
        let errors = try #require(error).errors
        #expect(errors.count == 3)
        #expect(errors[0] is DecodingError)
        #expect((errors[1] as? NetworkError)?.code == .unacceptableContentType)
        #expect(errors[2] is CancellationError)
        #expect(error?.description.contains("decoder 2: ") == true)
        let none = ResponseDecoder<Post>.first(of: [])
        #expect(throws: NetworkError.CompoundDecoding.self) { try value(none, "") }
    }

    /// `contentTypes = .any` lets it come so far.
    @Test func whereNoTypeFitsAllMembersAreTried() throws {
        let decoder = ResponseDecoder<Int>.first(of: .json(), ResponseDecoder.propertyList([String: Int].self).map(\.count))
        #expect(try value(decoder, "7", type: "text/plain") == 7)
    }

    // YTK-11
    @Test(arguments: ["", " \n"]) func nothingHasNoShape(text: String) throws {
        #expect(try value(.json(["a": .string]), text) == .null)
        #expect(try value(.json(allowsFragments: false), text) == .null)
    }

    @Test func aCompoundExpectsWhatItsMembersExpect() {
        let decoder = ResponseDecoder<Post>.first(of: .json(), .propertyList())
        let accepts = { ContentTypeValidation.automatic.accepts($0, status: 200, isEmpty: false, expected: decoder.any.types) }
        #expect(accepts("application/json") && accepts("application/x-plist") && !accepts("text/html"))
    }

    // RES-8
    @Test func anErrorsBodyIsDecodedToo() throws {
        var error = NetworkError(.unacceptableStatus, phase: .receiving, message: "")
        #expect(throws: NetworkError.EmptyBody.self) { try error.decoded(by: .text) }
        error.response = head("text/html; charset=latin1", status: 500)
        error.body = Data([0xE9])
        #expect(try error.decoded(by: .text) == "é")
        error.body = Data(#"{"title":"x"}"#.utf8)
        #expect(error.decoded(as: Post.self) == Post(title: "x"))
        #expect(error.decoded(as: [Post].self) == nil)
    }
}
