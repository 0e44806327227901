import CleanSlate
import Testing

@testable import ScopedNet

/// RES-2 and RES-3: which types pass, and that a refusal is never silent (defect 13).
@Suite(.leavesNothing) struct ContentTypeValidationTests {
    private let json = ["application/json", "*/*+json"].map { MediaTypePattern($0) }

    private func accepts(
        _ validation: ContentTypeValidation, _ field: String?, status: Int = 200, isEmpty: Bool = false, expected: [MediaTypePattern]? = nil
    ) -> Bool { validation.accepts(field, status: status, isEmpty: isEmpty, expected: expected) }

    @Test(arguments: [
        ("application/json", true), ("APPLICATION/JSON;charset=utf-8", true), ("application/problem+json", true), ("text/html", false),
        ("application/jsonp", false), ("application/json2", false), ("application/x+jsonx", false), ("garbage", false), ("", false),
    ]) func automaticIsWhatTheDecoderExpects(field: String, passes: Bool) {
        #expect(accepts(.automatic, field, expected: json) == passes)
        #expect(accepts(.automatic, field))
        #expect(accepts(.any, field, expected: json))
        #expect(accepts(.only(["application/json", "*/*+json"]), field) == passes)
    }

    @Test func whatSaysNothingPassesWhereNobodyAskedForMore() {
        #expect(accepts(.automatic, nil, expected: json))
        #expect(accepts(.any, nil))
        #expect(!accepts(.only(["a/b"]), nil))
        #expect(accepts(.only(["a/b"]), nil, isEmpty: true))
    }

    @Test func anEmptyBodyOfAnotherTypeIsTheDecodersBusinessUnlessAsked() {
        #expect(accepts(.automatic, "text/html", isEmpty: true, expected: json))
        #expect(!accepts(.only(["a/b"]), "text/html", isEmpty: true))
    }

    @Test(arguments: [(200, false), (204, true), (205, true), (206, false), (304, true), (404, false)])
    func withoutContentThereIsNoTypeToAskFor(status: Int, passes: Bool) {
        #expect(accepts(.only(["a/b"]), "text/html", status: status) == passes)
    }

    @Test(arguments: [
        ("image/*", "image/png", true), ("image/*", "images/png", false), ("*/*", "a/b", true), ("Image/PNG", "image/png", true),
        ("image/png; q=1", "image/png; x=y", true), (" image/png ", "image/png", true), ("image", "image/png", false),
        ("a/*+b+c", "a/*+b+c", true), ("", "a/b", false),
        ("application/*+xml", "application/atom+xml", true), ("application/*+xml", "image/svg+xml", false), ("*/*+xml", "a/xml", false),
    ]) func patterns(pattern: String, field: String, passes: Bool) { #expect(accepts(.only([pattern]), field) == passes) }

    @Test(arguments: [
        ("application/json", true), ("text/plain; charset=utf-8", true), ("text/html", false), ("garbage", false),
    ]) func whatIsAddedPassesBesideWhatTheDecoderExpects(field: String, passes: Bool) {
        #expect(accepts(.adding(["text/plain"]), field, expected: json) == passes)
        #expect(accepts(.adding(["text/plain"]), field))
        #expect(accepts(.only(["text/plain"]), field, expected: json) == field.hasPrefix("text/plain"))
    }

    @Test func whatSaysNothingPassesWithAnAdditionToo() {
        #expect(accepts(.adding(["text/plain"]), nil, expected: json))
        #expect(accepts(.adding(["text/plain"]), "text/html", isEmpty: true, expected: json))
    }

    @Test func noTypeAtAllIsAcceptable() { #expect(!accepts(.only([]), "a/b")) }
}
