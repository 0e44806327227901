/// A picture as text for a terminal. Nothing is written to one here: the caller does, and asks it for its size (`TIOCGWINSZ`).
///
/// ```swift
/// let capability = TerminalPicture.Capability.detect(environment: ProcessInfo.processInfo.environment)
/// let picture = TerminalPicture(image, columns: 80, rows: 24)
/// print(try picture.text(for: capability))
/// ```
///
/// A picture is made smaller to fit, and never larger: it has at most as many dots in the terminal as it has pixels.
public struct TerminalPicture: Sendable {
    /// A number of columns and rows of text.
    public struct Cells: Sendable, Hashable {
        /// Characters in a row.
        public var columns: Int
        /// Rows of text.
        public var rows: Int

        /// Makes a number of cells.
        ///
        /// - Parameters:
        ///   - columns: characters in a row.
        ///   - rows: rows of text.
        public init(columns: Int, rows: Int) { (self.columns, self.rows) = (columns, rows) }
    }

    /// The picture.
    public let image: DecodedImage
    /// The most cells that it takes; from 1 × 1 to 10,000 × 10,000.
    public let bounds: Cells
    /// The pixels of a cell, each side from 1 to 1,000; nil where the terminal does not tell.
    public let cell: PixelSize?
    /// The colour behind transparent pixels; nil for that of the terminal: pixels with an alpha below 128 are left out.
    public let background: PixelColor?
    private let limits: ImageLimits

    /// Makes a picture for a terminal.
    ///
    /// - Parameters:
    ///   - image: the picture.
    ///   - columns: the most columns.
    ///   - rows: the most rows.
    ///   - cell: the pixels of a cell (`ws_xpixel / ws_col`, `ws_ypixel / ws_row` of `TIOCGWINSZ`); nil, the default,
    ///     for cells that are assumed to be twice as high as wide.
    ///   - background: the colour behind transparent pixels; nil, the default, for that of the terminal.
    ///   - limits: the most pixels and bytes.
    public init(
        _ image: DecodedImage, columns: Int, rows: Int, cell: PixelSize? = nil, background: PixelColor? = nil,
        limits: ImageLimits = .standard
    ) {
        (self.image, self.background, self.limits) = (image, background, limits)
        bounds = Cells(columns: min(10_000, max(1, columns)), rows: min(10_000, max(1, rows)))
        self.cell = cell.map { PixelSize(min(1_000, max(1, $0.width)), min(1_000, max(1, $0.height))) }
    }

    /// Computes the cells that the picture takes, in its right shape.
    ///
    /// - Parameter capability: the form of the output.
    /// - Returns: the columns and rows, each at least 1.
    public func cells(for capability: Capability) -> Cells {
        let (dots, cell) = (self.dots(for: capability), assumedCell)
        switch capability {
        case .plain: return Cells(columns: dots.width, rows: dots.height)
        case .halfBlocks: return Cells(columns: dots.width, rows: (dots.height + 1) / 2)
        case .kitty where self.cell == nil:
            // Scaled by the terminal to these cells: the nearest numbers distort least.
            return Cells(
                columns: max(1, (dots.width + cell.width / 2) / cell.width), rows: max(1, (dots.height + cell.height / 2) / cell.height))
        case .kitty, .sixel:
            return Cells(
                columns: (dots.width + cell.width - 1) / cell.width, rows: (dots.height + cell.height - 1) / cell.height)
        }
    }

    /// Makes the output.
    ///
    /// - Parameter capability: the form of the output.
    /// - Returns: text with escape sequences; lines of text end with a line feed but for the last one.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``.
    public func text(for capability: Capability) throws -> String { String(decoding: try bytes(for: capability), as: UTF8.self) }

    /// Makes the output as bytes, of which pixel formats have many.
    ///
    /// - Parameter capability: the form of the output.
    /// - Returns: the UTF-8 bytes of ``text(for:)``.
    /// - Throws: ``ImageError/exceeds(_:actual:most:)``.
    public func bytes(for capability: Capability) throws -> [UInt8] {
        let dots = try Dots(resized(to: dots(for: capability)), background)
        switch capability {
        case .plain: return Self.plain(dots)
        case .halfBlocks: return Self.halfBlocks(dots)
        case .sixel: return try SixelEncoder(dots, limits).encode()
        case .kitty: return Self.kitty(dots, cells: cell == nil ? cells(for: .kitty) : nil)
        }
    }

    private func resized(to size: PixelSize) throws -> DecodedImage {
        try ImageProcessors.Resize(size, mode: .exact).process(image, limits: limits)
    }

    private var assumedCell: PixelSize { cell ?? PixelSize(10, 20) }

    /// The dots of the picture: characters, halves of characters, or pixels.
    private func dots(for capability: Capability) -> PixelSize {
        let cell = assumedCell
        // The size of a dot on the screen, and the most dots that there are.
        let (dot, most): ((width: Double, height: Double), PixelSize) =
            switch capability {
            case .plain: ((Double(cell.width), Double(cell.height)), PixelSize(bounds.columns, bounds.rows))
            case .halfBlocks: ((Double(cell.width), Double(cell.height) / 2), PixelSize(bounds.columns, bounds.rows * 2))
            case .sixel, .kitty: ((1, 1), PixelSize(bounds.columns * cell.width, bounds.rows * cell.height))
            }
        let (width, height) = (Double(max(1, image.width)), Double(max(1, image.height)))
        let scale = min(
            Double(most.width) * dot.width / width, Double(most.height) * dot.height / height, min(dot.width, dot.height))
        return PixelSize(
            min(most.width, max(1, Int((width * scale / dot.width).rounded()))),
            min(most.height, max(1, Int((height * scale / dot.height).rounded()))))
    }
}

extension TerminalPicture {
    /// The colours of a picture, row by row; nil where the terminal shows through.
    struct Dots {
        let width: Int
        let height: Int
        private let image: DecodedImage
        private let background: PixelColor?

        init(_ image: DecodedImage, _ background: PixelColor?) {
            (width, height, self.image, self.background) = (image.width, image.height, image, background)
        }

        /// Calls `body` for each dot of a row.
        func forEach(row: Int, _ body: (_ column: Int, PixelColor?) -> Void) {
            guard row < height else { return (0..<width).forEach { body($0, nil) } }
            image.withPixels { pixels in
                for column in 0..<width {
                    let place = row * image.bytesPerRow + column * 4
                    body(column, color(pixels[place], pixels[place + 1], pixels[place + 2], pixels[place + 3]))
                }
            }
        }

        /// The colours of a row; all nil below the last one.
        func row(_ row: Int) -> [PixelColor?] {
            var colors: [PixelColor?] = []
            colors.reserveCapacity(width)
            forEach(row: row) { colors.append($1) }
            return colors
        }

        private func color(_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: UInt8) -> PixelColor? {
            if alpha == 255 { return PixelColor(red, green, blue) }
            let straight = straight(red, green, blue, alpha)
            guard let background else { return alpha >= 128 ? PixelColor(straight.red, straight.green, straight.blue) : nil }
            func mix(_ over: UInt8, _ under: UInt8) -> UInt8 {
                UInt8(truncatingIfNeeded: (Int(over) * Int(alpha) + Int(under) * (255 - Int(alpha)) + 127) / 255)
            }
            return PixelColor(
                mix(straight.red, background.red), mix(straight.green, background.green), mix(straight.blue, background.blue))
        }

        private func straight(_ red: UInt8, _ green: UInt8, _ blue: UInt8, _ alpha: UInt8) -> PixelColor {
            guard image.isPremultiplied, alpha > 0 else { return PixelColor(red, green, blue, alpha) }
            func divide(_ value: UInt8) -> UInt8 { UInt8(min(255, (Int(value) * 255 + Int(alpha) / 2) / Int(alpha))) }
            return PixelColor(divide(red), divide(green), divide(blue), alpha)
        }

        /// Calls `body` for each dot of a row, with its alpha: over the background, if there is one.
        func forEachWithAlpha(row: Int, _ body: (PixelColor) -> Void) {
            guard background == nil else { return forEach(row: row) { _, color in body(color ?? .black) } }
            image.withPixels { pixels in
                for column in 0..<width {
                    let place = row * image.bytesPerRow + column * 4
                    body(straight(pixels[place], pixels[place + 1], pixels[place + 2], pixels[place + 3]))
                }
            }
        }
    }
}
