import ScopedNetImages

/// The pictures that a terminal can show.
struct Graphics: Sendable {
    let capability: TerminalPicture.Capability
    /// The pixels of a cell; nil where the terminal does not tell.
    let cell: PixelSize?
    /// The most rows of a picture, so that it is on the screen with its caption.
    let rows: Int
}
