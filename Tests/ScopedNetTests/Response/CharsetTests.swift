import CleanSlate
import Testing

@testable import ScopedNet

/// Text is never lost: a wrong byte costs one character, an unknown name nothing.
@Suite(.leavesNothing) struct CharsetTests {
    @Test(arguments: [
        ("utf-8", "Grüße 日本", Array("Grüße 日本".utf8)), ("ISO-8859-1", "Grüße", [0x47, 0x72, 0xFC, 0xDF, 0x65]),
        ("latin1", "é", [0xE9]), ("us-ascii", "a", [0x61]), ("iso-8859-1", "“x”", [0x93, 0x78, 0x94]), ("iso-8859-15", "€", [0xA4]),
        ("windows-1251", "Привет", [0xCF, 0xF0, 0xE8, 0xE2, 0xE5, 0xF2]), ("Shift_JIS", "日本", [0x93, 0xFA, 0x96, 0x7B]),
        ("euc-jp", "日本", [0xC6, 0xFC, 0xCB, 0xDC]), ("gb18030", "中", [0xD6, 0xD0]), ("Big5", "中", [0xA4, 0xA4]),
        ("utf-16", "hi", [0x68, 0, 0x69, 0]), ("UTF-16BE", "hi", [0, 0x68, 0, 0x69]), ("utf-32", "h", [0x68, 0, 0, 0]),
    ]) func namesAreKnown(name: String, text: String, bytes: [UInt8]) { #expect(Charset.text(bytes, named: name) == text) }

    @Test(
        arguments: [
            [0xEF, 0xBB, 0xBF, 0x68], [0xFF, 0xFE, 0x68, 0], [0xFE, 0xFF, 0, 0x68], [0xFF, 0xFE, 0, 0, 0x68, 0, 0, 0],
            [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x68],
        ] as [[UInt8]]) func aByteOrderMarkOutranksTheNameAndIsNoText(bytes: [UInt8])
    {
        #expect(Charset.text(bytes, named: "shift_jis") == "h")
        #expect(Charset.text(bytes, named: nil) == "h")
    }

    @Test(arguments: [nil, "", "no-such-name", "UTF-8//IGNORE", "utf-8\u{0}", "../../etc/passwd", String(repeating: "x", count: 5000)])
    func anUnknownNameIsUTF8(name: String?) { #expect(Charset.text(Array("ü\u{FFFD}".utf8) + [0xFF], named: name) == "ü\u{FFFD}\u{FFFD}") }

    @Test func aWrongByteCostsOneCharacter() {
        #expect(Charset.text([0x61, 0xFF, 0x62], named: "euc-jp") == "a\u{FFFD}b")
        #expect(Charset.text([0x61, 0x81], named: "shift_jis") == "a\u{FFFD}")
        // A lone low surrogate, then a letter; then half of one.
        #expect(Charset.text([0, 0xDC, 0x62, 0], named: "utf-16le") == "\u{FFFD}b")
        #expect(Charset.text([0x62, 0, 0x62], named: "utf-16le") == "b\u{FFFD}")
        #expect(Charset.text([0xFF, 0xFF, 0xFF, 0x7F, 0x62, 0, 0, 0], named: "utf-32le") == "\u{FFFD}b")
        #expect(Charset.text([], named: "utf-16le") == "")
    }

    /// Where marks stand behind their letters the converter holds the last one back.
    @Test(arguments: ["windows-1258", "tcvn5712-1", "big5-hkscs", "shift_jisx0213", "euc-jisx0213"]) func theLastLetterComesToo(
        name: String
    ) {
        #expect(Charset.text(Array("Hello".utf8), named: name) == "Hello")
        #expect(Charset.text(Array("A".utf8), named: name) == "A")
    }

    @Test func aLongTextOutgrowsNoBuffer() {
        let bytes = [UInt8](repeating: 0xE9, count: 100_000)
        let text = Charset.text(bytes, named: "iso-8859-1")
        #expect(text == String(repeating: "é", count: 100_000))
        let wrong = Charset.text([UInt8](repeating: 0xFF, count: 50_000), named: "euc-jp")
        #expect(wrong.unicodeScalars.count == 50_000)
    }
}
