import ScopedNetImages

/// The forms in which `scopednet image` shows a picture (pure).
enum ImageGraphics: String, Sendable, CaseIterable {
    case auto, kitty, sixel, blocks, ascii, none

    /// Finds the form of the output.
    ///
    /// - Parameters:
    ///   - isTerminal: true where standard output is a terminal.
    ///   - environment: the variables of the process.
    /// - Returns: the form; nil where there is to be no picture.
    func capability(isTerminal: Bool, environment: [String: String]) -> TerminalPicture.Capability? {
        switch self {
        case .auto: isTerminal ? .detect(environment: environment) : nil
        case .kitty: .kitty
        case .sixel: .sixel
        case .blocks: .halfBlocks
        case .ascii: .plain
        case .none: nil
        }
    }
}
