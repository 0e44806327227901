import CleanSlate
import Testing

@testable import ScopedNet

/// YTK-11, and its defect 34: a nested shape that meets a scalar is a mismatch like any other.
@Suite(.leavesNothing) struct JSONShapeTests {
    private func places(_ shape: JSONShape, _ value: JSONValue) -> [String] { shape.mismatches(in: value).map(\.path) }

    @Test(
        arguments: [
            (.string, "x"), (.number, 1), (.number, 1.5), (.integer, 1), (.bool, true), (.any, nil), (.any, ["a": 1]),
            (.optional(.string), nil),
            (.optional(.string), "x"), (.array(of: .number), []), (.array(of: .number), [1, 2.5]), (.object([:]), ["extra": 1]),
            (["a": .string], ["a": "x", "b": 2]), (["a": .string], ["a": nil]), (["a": .optional(.string)], [:]),
            (["a": ["b": .number]], ["a": ["b": 1]]), (["a": ["b": .number]], ["a": nil]), (.array(of: .any), [nil]),
            (.array(of: .optional(.number)), [nil, 1]),
        ] as [(JSONShape, JSONValue)]) func fits(shape: JSONShape, value: JSONValue)
    { #expect(places(shape, value).isEmpty) }

    @Test(
        arguments: [
            (.string, 1, "$"), (.number, "1", "$"), (.integer, 1.5, "$"), (.bool, 0, "$"), (.string, nil, "$"), (.object([:]), [], "$"),
            (.array(of: .any), [:], "$"), (["a": .string], [:], "$.a"), (["a": .string], ["a": 1], "$.a"),
            (["a": .required(.string)], ["a": nil], "$.a"), (["a": .required(.any)], ["a": nil], "$.a"),
            (["a": .required(.optional(.string))], ["a": nil], "$.a"), (.array(of: .number), [1, nil], "$[1]"),
            (["a": ["b": .number]], ["a": 1], "$.a"), (["a": ["b": .number]], ["a": ["b": "x"]], "$.a.b"),
            (["a": .array(of: ["b": .string])], ["a": [["b": "x"], ["b": 1]]], "$.a[1].b"), (["a": .array(of: .number)], ["a": 7], "$.a"),
            (["a": .optional(.string)], ["a": 1], "$.a"),
        ] as [(JSONShape, JSONValue, String)]) func doesNotFit(shape: JSONShape, value: JSONValue, place: String)
    {
        #expect(places(shape, value) == [place])
    }

    @Test func everyPlaceIsNamedInOrderUpToTwenty() {
        #expect(places(["b": .string, "a": .string, "c": .string], ["b": 1, "c": 2]) == ["$.a", "$.b", "$.c"])
        let many = JSONValue.array(Array(repeating: .null, count: 100))
        #expect(places(.array(of: .string), many).count == 20)
        let members = Dictionary(uniqueKeysWithValues: (0..<100).map { ("m\($0)", JSONShape.string) })
        #expect(places(.object(members), [:]).count == 20)
    }

    @Test func aMismatchSaysWhatIsThere() {
        let error = JSONShape.ShapeError(
            mismatches: (["a": .string, "b": .array(of: .bool), "c": .integer] as JSONShape).mismatches(in: ["b": ["x"], "c": 1.5]))
        #expect(
            error.description
                == "$.a is missing, and should be a string; $.b[0] should be a boolean, and is a string; $.c should be an integer, and is a number"
        )
        let kinds: [(JSONValue, String)] = [
            (nil, "null"), (true, "a boolean"), (1, "a number"), ("", "a string"), ([], "an array"), ([:], "an object"),
        ]
        for (value, kind) in kinds where kind != "a string" {
            #expect(JSONShape.string.mismatches(in: value).first?.description == "$ should be a string, and is \(kind)")
        }
        let shapes: [(JSONShape, String)] = [
            (.any, "anything"), (.number, "a number"), (.object([:]), "an object"), (.array(of: .any), "an array"),
            (.optional(.bool), "a boolean or nothing"), (.required(.string), "a string"),
        ]
        for (shape, text) in shapes { #expect(shape.description == text) }
    }
}
