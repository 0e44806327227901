import Glibc
import ScopedNetImages

/// The size of a terminal.
struct TerminalSize: Sendable, Hashable {
    var columns = 80
    var rows = 24
    /// The pixels of a cell; nil where the terminal does not tell.
    var cell: PixelSize?

    /// The usual size: 80 columns and 24 rows.
    init() {}

    /// The size of the terminal behind a descriptor; the usual one where there is none, or where it does not tell.
    init(of descriptor: Int32) {
        var window = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &window) == 0, window.ws_col > 0, window.ws_row > 0 else { return }
        (columns, rows) = (Int(window.ws_col), Int(window.ws_row))
        guard window.ws_xpixel >= window.ws_col, window.ws_ypixel >= window.ws_row else { return }
        cell = PixelSize(Int(window.ws_xpixel) / columns, Int(window.ws_ypixel) / rows)
    }

    /// The rows of a picture: below it come the lines about it, and the prompt.
    var pictureRows: Int { max(1, rows - 3) }

    /// The most pixels of a picture, for a decoder that can make fewer.
    var pixels: PixelSize {
        let cell = cell ?? PixelSize(10, 20)
        return PixelSize(columns * cell.width, pictureRows * cell.height)
    }
}
