import CleanSlate
import Testing

@testable import ScopedNetTool

@Suite(.leavesNothing) struct JSONSyntaxTests {
    @Test(arguments: [
        "0", "-0", "41", "1e400", "0.1000000000000000055", "12345678901234567890123", "-1.5E-7", "1e+5", "1E5", "true", "false", "null",
        #""""#, #""a\"\\\/\b\f\n\r\t\u00e4\uD83D""#, "\"\u{7f}ä\"", "[]", "{}", "[ ]", "{ }", "[1, [2], {}]",
        #"{"a": 1, "b": [true, null]}"#,
        " \t\r\n[1]\n", #"{"a":{"a":{}},"a":0}"#, "[[],[[]]]",
    ])
    func whatIsJSONHasNoMistake(_ text: String) {
        let mistake = JSONSyntax.mistake(in: text.utf8)
        #expect(mistake == nil)
    }

    @Test(arguments: [
        ("", "missing"), ("  ", "missing"), ("[1,", "missing"), ("nonsense", "no value"), ("True", "no value"), ("'a'", "no value"),
        ("NaN", "no value"), ("+1", "no value"), (".5", "no value"), ("[1,]", "no value"), ("[,1]", "no value"), ("]", "no value"),
        ("01", "number"), ("-01", "number"), ("-", "number"), ("1.", "number"), ("1.e5", "number"), ("1e", "number"), ("1e+", "number"),
        ("-a", "number"), ("1 2", "behind"), ("nullx", "behind"), ("1x", "behind"), ("{}}", "behind"), ("1e+-5", "number"),
        ("0x10", "behind"), (#""a"#, "string has no end"), (#""a\"#, "backslash"), (#""\x""#, "backslash"), (#""\u12g4""#, "backslash"),
        (#""\u12"#, "backslash"), ("\"a\nb\"", "control"), ("\"\u{0}\"", "control"), ("[1", "array"), ("[1 2]", "array"), ("[1}", "array"),
        (#"{"a":1"#, "object lacks"), (#"{"a":1 "b":2}"#, "object lacks"), (#"{"a":1]"#, "object lacks"), ("{a:1}", "no name"),
        ("{", "no name"), (#"{"a":1,}"#, "no name"), ("{1:2}", "no name"), (#"{"a" 1}"#, "colon"), (#"{"a""#, "colon"),
        (#"{"a":}"#, "no value"),
    ])
    func whatIsNoneSaysWhy(_ text: String, _ word: String) {
        let mistake = JSONSyntax.mistake(in: text.utf8)
        #expect(mistake?.contains(word) == true, "\(mistake ?? "")")
    }

    /// Not bound by the stack.
    @Test func depthHasNoEnd() {
        let deep = String(repeating: #"[{"a":"#, count: 20_000) + "1" + String(repeating: "}]", count: 20_000)
        let (whole, cut) = (JSONSyntax.mistake(in: deep.utf8), JSONSyntax.mistake(in: deep.utf8.dropLast()))
        #expect(whole == nil && cut?.contains("array") == true)
    }
}
