extension TerminalPicture {
    /// The best form of pictures that a terminal shows. New cases may be added; keep a default when you switch.
    public enum Capability: String, Sendable, Hashable, CaseIterable {
        /// Characters without colours.
        case plain
        /// Two dots in each cell, in 24-bit colours.
        case halfBlocks
        /// Pixels with a palette (DEC VT340).
        case sixel
        /// Pixels with alpha (kitty graphics protocol).
        case kitty

        /// Finds the best form by the environment alone, which asks the terminal nothing.
        ///
        /// The rules, of which the first that holds is taken:
        /// - `NO_COLOR` that is not empty (no-color.org), a `TERM` of `dumb` or `linux`, Apple's Terminal: plain.
        /// - tmux, GNU screen and Zellij pass no pictures through: half blocks in tmux and Zellij, which know 24-bit
        ///   colours, and plain in screen.
        /// - `TERM` of kitty and Ghostty, `TERM_PROGRAM` of WezTerm and Ghostty: kitty. WezTerm knows sixel, too; chafa
        ///   prefers kitty there.
        /// - `TERM` of foot, mlterm, yaft, or one that names `sixel` or `vt340`; `MLTERM`; Konsole from 22.04 on
        ///   (`KONSOLE_VERSION`): sixel. xterm has sixel by its resources (`-ti vt340`), and no variable tells: see
        ///   ``reportsSixel(_:)``.
        /// - `KITTY_WINDOW_ID`, which programs that kitty has started also hand to other terminals: kitty.
        /// - `COLORTERM` of `truecolor` or `24bit`, `VTE_VERSION`, `TERM` with `256color` or `direct`, or of a terminal
        ///   that is known: half blocks.
        ///
        /// A locale with another encoding than UTF-8 turns half blocks into plain characters.
        ///
        /// - Parameter environment: the variables of the process.
        /// - Returns: the form.
        public static func detect(environment: [String: String]) -> Self {
            let variables = Variables(environment)
            if variables.isSet("NO_COLOR") || variables.isPlain { return .plain }
            if variables.isSet("TMUX") || variables.term("tmux") || variables.isSet("ZELLIJ") { return variables.text(.halfBlocks) }
            if variables.isSet("STY") || variables.term("screen") { return .plain }
            if variables.term("xterm-kitty", "xterm-ghostty") || variables.program("wezterm", "ghostty") { return .kitty }
            if variables.hasSixel { return .sixel }
            if variables.isSet("KITTY_WINDOW_ID") { return .kitty }
            return variables.hasColors ? variables.text(.halfBlocks) : .plain
        }

        /// Finds sixel in the answer to the request for primary device attributes, `ESC [ c`: its attribute 4 (XTerm Control Sequences).
        ///
        /// - Parameter answer: the answer of the terminal, such as `ESC [ ? 6 3 ; 1 ; 4 c`.
        /// - Returns: true where the attribute is there.
        public static func reportsSixel(_ answer: String) -> Bool {
            guard let start = answer.firstIndex(of: "\u{1B}"), answer[start...].hasPrefix("\u{1B}[?") else { return false }
            let attributes = answer[start...].dropFirst(3).prefix { $0 != "c" }
            guard attributes.endIndex < answer.endIndex else { return false }
            // The first number is the class of the terminal.
            return attributes.split(separator: ";", omittingEmptySubsequences: false).dropFirst().contains("4")
        }
    }

    /// The variables that tell of a terminal.
    private struct Variables {
        private let environment: [String: String]
        private let term: String
        private let program: String

        init(_ environment: [String: String]) {
            self.environment = environment
            term = (environment["TERM"] ?? "").lowercased()
            program = (environment["TERM_PROGRAM"] ?? "").lowercased()
        }

        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }

        func program(_ names: String...) -> Bool { names.contains(program) }

        /// True where `TERM` is one of the names, or one of them with an ending such as `-256color` or `.xterm`.
        func term(_ names: String...) -> Bool {
            names.contains { term == $0 || term.hasPrefix($0 + "-") || term.hasPrefix($0 + ".") }
        }

        var isPlain: Bool { term == "dumb" || term == "linux" || program == "apple_terminal" }

        var hasSixel: Bool {
            if term("foot", "mlterm", "yaft") || term.contains("sixel") || term.contains("vt340") || isSet("MLTERM") { return true }
            // Major, minor and patch in two digits each; 22.04.0 came after betas from 22.03.70 on.
            return (environment["KONSOLE_VERSION"].flatMap { Int($0) } ?? 0) >= 220_370
        }

        var hasColors: Bool {
            if ["truecolor", "24bit"].contains((environment["COLORTERM"] ?? "").lowercased()) || isSet("VTE_VERSION") { return true }
            return term.contains("256color") || term.contains("direct") || term("alacritty", "wezterm", "contour", "rio")
        }

        /// A form of text with characters that are not ASCII, where the locale has them.
        func text(_ capability: Capability) -> Capability {
            let locale = ["LC_ALL", "LC_CTYPE", "LANG"].first(where: isSet).flatMap { environment[$0] } ?? ""
            guard let dot = locale.firstIndex(of: ".") else { return capability }
            let encoding = locale[dot...].dropFirst().prefix { $0 != "@" }.lowercased()
            return encoding == "utf-8" || encoding == "utf8" ? capability : .plain
        }
    }
}
