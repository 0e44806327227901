import CleanSlate
import Testing

@testable import ScopedNetImages

/// The best form of pictures, by the environment (pure).
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct TerminalCapabilityTests {
    private func detect(_ environment: [String: String]) -> TerminalPicture.Capability { .detect(environment: environment) }

    @Test(
        arguments: [
            (["TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1", "COLORTERM": "truecolor"], .kitty),
            // Over ssh TERM alone comes along.
            (["TERM": "xterm-kitty"], .kitty),
            (["TERM": "xterm-ghostty", "TERM_PROGRAM": "ghostty"], .kitty),
            (["TERM": "xterm-256color", "TERM_PROGRAM": "Ghostty"], .kitty),
            (["TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm", "COLORTERM": "truecolor"], .kitty),
            (["TERM": "xterm-256color", "KITTY_WINDOW_ID": "7"], .kitty),
            (["TERM": "foot", "COLORTERM": "truecolor"], .sixel), (["TERM": "foot-direct"], .sixel), (["TERM": "foot-extra"], .sixel),
            (["TERM": "mlterm"], .sixel), (["TERM": "mlterm-256color"], .sixel), (["TERM": "xterm", "MLTERM": "3.9.2"], .sixel),
            (["TERM": "yaft-256color"], .sixel), (["TERM": "xterm-sixel"], .sixel), (["TERM": "vt340"], .sixel),
            // foot that was started in kitty.
            (["TERM": "foot", "KITTY_WINDOW_ID": "1"], .sixel),
            (["TERM": "xterm-256color", "KONSOLE_VERSION": "220400", "COLORTERM": "truecolor"], .sixel),
            (["TERM": "xterm-256color", "KONSOLE_VERSION": "211203", "COLORTERM": "truecolor"], .halfBlocks),
            (["TERM": "xterm-256color"], .halfBlocks), (["TERM": "xterm", "COLORTERM": "truecolor"], .halfBlocks),
            (["TERM": "xterm", "COLORTERM": "24bit"], .halfBlocks), (["TERM": "xterm", "VTE_VERSION": "6800"], .halfBlocks),
            (["TERM": "alacritty"], .halfBlocks), (["TERM": "konsole-direct"], .halfBlocks),
            (["TERM": "xterm"], .plain), (["TERM": "vt100"], .plain), (["TERM": "footsie"], .plain), ([:], .plain),
            (["TERM": "dumb", "COLORTERM": "truecolor"], .plain), (["TERM": "linux", "COLORTERM": "1"], .plain),
            (["TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"], .plain),
        ] as [([String: String], TerminalPicture.Capability)])
    func terminalsAreKnown(_ environment: [String: String], _ capability: TerminalPicture.Capability) {
        #expect(detect(environment) == capability)
        #expect(detect(environment.merging(["NO_COLOR": "1"]) { $1 }) == .plain)
        // Set, and empty: not set (no-color.org).
        #expect(detect(environment.merging(["NO_COLOR": ""]) { $1 }) == capability)
    }

    /// They keep pictures for themselves, whatever terminal is around them.
    @Test func multiplexersPassNoPictures() {
        let outside = ["KITTY_WINDOW_ID": "1", "TERM_PROGRAM": "ghostty", "COLORTERM": "truecolor", "MLTERM": "1"]
        #expect(detect(outside.merging(["TERM": "tmux-256color", "TMUX": "/tmp/tmux"]) { $1 }) == .halfBlocks)
        #expect(detect(outside.merging(["TERM": "screen-256color", "TMUX": "/tmp/tmux"]) { $1 }) == .halfBlocks)
        #expect(detect(outside.merging(["TERM": "xterm-kitty", "ZELLIJ": "0"]) { $1 }) == .halfBlocks)
        #expect(detect(outside.merging(["TERM": "screen.xterm-256color", "STY": "1.pts"]) { $1 }) == .plain)
    }

    @Test func blocksNeedTheirEncoding() {
        let terminal = ["TERM": "xterm-256color", "COLORTERM": "truecolor"]
        for (variables, capability) in [
            (["LANG": "en_US.UTF-8"], .halfBlocks), (["LANG": "en_US.utf8@euro"], .halfBlocks), (["LANG": "C"], .halfBlocks),
            (["LANG": "de_DE.ISO-8859-1"], .plain), (["LANG": "de_DE.ISO-8859-1", "LC_ALL": "C.UTF-8"], .halfBlocks),
            (["LANG": "C.UTF-8", "LC_CTYPE": "ja_JP.eucJP", "LC_ALL": ""], .plain),
        ] as [([String: String], TerminalPicture.Capability)] {
            #expect(detect(terminal.merging(variables) { $1 }) == capability)
        }
    }

    @Test func attributesTellOfSixel() {
        for answer in ["\u{1B}[?63;1;2;4;6;9;15;22c", "\u{1B}[?62;4c", "noise\u{1B}[?65;4;6;18;22c"] {
            #expect(TerminalPicture.Capability.reportsSixel(answer), "\(answer.dropFirst())")
        }
        for answer in [
            "", "\u{1B}", "\u{1B}[?", "\u{1B}[?62;22c", "\u{1B}[?4c", "\u{1B}[?62;4", "\u{1B}[>62;4c", "\u{1B}[?62;14;44c", "62;4c",
        ] {
            #expect(!TerminalPicture.Capability.reportsSixel(answer), "\(answer.dropFirst())")
        }
    }
}
