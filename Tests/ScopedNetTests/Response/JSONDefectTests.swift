import CleanSlate
import Foundation
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct JSONDefectTests {
    private func defect(_ text: String) -> JSONDefect? { JSONDefect.find(in: Data(text.utf8)) }

    @Test(arguments: [
        "[]", " {} ", "1", "-0.5e+3", #""""#, "null", "\u{feff}{}", #"{"a":[1,{"b":null,"c":[]}],"d":"x\u00e9\ud83d\ude00\n"}"#,
        String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
    ])
    func validJSONHasNone(_ text: String) { #expect(defect(text) == nil) }

    @Test(arguments: ["", " ", "[", "[1", "[1,", #"{"a""#, #"{"a":"#, #""a"#, #""\u12"#, "nul", "-", "1.", "1e"])
    func aTextThatEndsTooEarly(_ text: String) { #expect(defect(text) == .endsEarly) }

    @Test(arguments: [
        ("<html>", 1, 1), ("[1,]", 1, 4), ("[1,\n 2,\n x]", 3, 2), ("01", 1, 2), ("nulx", 1, 4), ("[] x", 1, 4), ("[1]]", 1, 4),
        ("[1}", 1, 3), ("{a:1}", 1, 2), (#"{"a" 1}"#, 1, 6), (#"{"a":1,}"#, 1, 8), (#""\q""#, 1, 3), (#""\ud800""#, 1, 8),
        (#""\udc00""#, 1, 8), ("\"a\nb\"", 1, 3), ("{'a':1}", 1, 2), ("NaN", 1, 1),
    ])
    func theFirstByteThatDoesNotBelongThereIsNamed(_ text: String, _ line: Int, _ column: Int) {
        #expect(defect(text) == .unexpected(line: line, column: column))
    }

    @Test func nestingAndEncoding() {
        #expect(defect(String(repeating: "[", count: 1_000_000)) == .tooDeep)
        #expect(JSONDefect.find(in: Data([0x22, 0xFF, 0x22])) == .notUTF8)
        #expect(JSONDefect.find(in: Data("{}".data(using: .utf16) ?? Data())) == nil)
    }

    /// A body may be a piece of a longer one.
    @Test func aSliceIsReadFromItsBeginning() {
        #expect(JSONDefect.find(in: Data("xx[1]".utf8).dropFirst(2)) == nil)
        #expect(JSONDefect.find(in: Data("xx[1".utf8).dropFirst(2)) == .endsEarly)
    }
}
