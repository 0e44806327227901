import ScopedNet
public import ScopedNetImages

/// A picture in a terminal. The next one is drawn in its place where nothing else was written since.
///
/// An output that is no terminal gets one line for each picture, with its size in pixels, and nothing of previews.
@MainActor public final class TerminalImageView: ImageDisplaying {
    private let output: TerminalOutput
    private let bounds: TerminalPicture.Cells
    /// The rows of text that the picture takes.
    private var rows = 0

    /// Makes a view.
    ///
    /// - Parameters:
    ///   - output: the terminal.
    ///   - columns: the most columns of a picture. Default: those of the terminal.
    ///   - rows: the most rows of a picture. Default: those of the terminal but one.
    public init(_ output: TerminalOutput, columns: Int? = nil, rows: Int? = nil) {
        self.output = output
        bounds = TerminalPicture.Cells(columns: columns ?? output.size.columns, rows: rows ?? max(1, output.size.rows - 1))
    }

    /// Draws a picture in place of the one before; nil erases that.
    public func display(_ image: DecodedImage?) {
        guard output.isTerminal else {
            if let image { output.write("picture, \(image.width) × \(image.height)\n", leavesLine: false, by: self) }
            return
        }
        var bytes = rows > 0 && output.isLastWriter(self) ? Array("\u{1B}[\(rows)A\r\u{1B}[J".utf8) : []
        rows = 0
        if let image {
            let picture = TerminalPicture(image, columns: bounds.columns, rows: bounds.rows)
            // One that cannot be resized within the limits of pictures is left out.
            if let drawn = try? picture.bytes(for: output.capability) {
                rows = picture.cells(for: output.capability).rows
                bytes += drawn + [UInt8(ascii: "\n")]
            }
        }
        if !bytes.isEmpty { output.write(bytes, leavesLine: false, by: self) }
    }

    /// Draws a preview, in a terminal alone.
    public func displayPreview(_ image: DecodedImage) {
        if output.isTerminal { display(image) }
    }
}
