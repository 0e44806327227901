import CleanSlate
import Testing

@testable import ScopedNet

/// What goes to a log or a terminal.
@Suite(.leavesNothing) struct PrintableTextTests {
    @Test func harmlessTextStaysAsItIs() {
        for text in ["", "plain", "ü 日本 🙂", " ~", "\u{A0}", "\u{2027}\u{202F}", "\u{2065}\u{206A}"] {
            #expect(text.printable == text)
        }
    }

    @Test(
        arguments: [
            (0x00, "\\x0"), (0x0A, "\\xA"), (0x1B, "\\x1B"), (0x1F, "\\x1F"), (0x7F, "\\x7F"), (0x80, "\\x80"), (0x9F, "\\x9F"),
            (0x2028, "\\x2028"), (0x2029, "\\x2029"), (0x202A, "\\x202A"), (0x202E, "\\x202E"), (0x2066, "\\x2066"), (0x2069, "\\x2069"),
        ] as [(UInt32, String)])
    func controlsBecomeNumbers(value: UInt32, shown: String) throws {
        let scalar = try #require(Unicode.Scalar(value))
        let text = "a" + String(Character(scalar)) + "b"
        #expect(text.printable == "a\(shown)b")
    }

    @Test func theNeighboursOfWhatIsHiddenAreNot() throws {
        for value in [0x20, 0x7E, 0xA0, 0x2027, 0x202F, 0x2065, 0x206A] as [UInt32] {
            let text = "\n" + String(Character(try #require(Unicode.Scalar(value))))
            #expect(text.printable == "\\xA" + text.dropFirst())
        }
    }
}
