/// A picture as sixels (VT330/VT340 Programmer Reference Manual, chapter 14).
///
/// Up to 256 colours are shown as they are, but that sixels count them in hundredths. More of them become a palette of
/// 256, by median cut, with Floyd–Steinberg dithering.
struct SixelEncoder {
    private let width: Int
    private let height: Int
    private let palette: SixelPalette
    /// For each dot, its colour; nil where the terminal shows through.
    private let indices: [UInt8?]

    /// Chooses the colours.
    ///
    /// - Throws: ``ImageError/exceeds(_:actual:most:)`` where a band of six rows takes more bytes than a picture may.
    init(_ dots: TerminalPicture.Dots, _ limits: ImageLimits) throws(ImageError) {
        (width, height) = (dots.width, dots.height)
        try limits.check(scratch: width * 256)
        var colors: [PixelColor?] = []
        colors.reserveCapacity(width * height)
        for row in 0..<height { dots.forEach(row: row) { colors.append($1) } }
        var palette = SixelPalette(colors)
        indices = palette.indices(of: colors, width: width)
        self.palette = palette
    }

    /// Makes the device control string.
    func encode() -> [UInt8] {
        var writer = EscapeWriter()
        // Dots that are not set keep what is there (P2 = 1); dots are square, and so many.
        writer.write("\u{1B}P0;1;0q\"1;1;")
        writer.write(width)
        writer.write(";")
        writer.write(height)
        for (index, color) in palette.colors.enumerated() {
            writer.write("#")
            writer.write(index)
            writer.write(";2;")
            writer.write(PixelColor(Self.percent(color.red), Self.percent(color.green), Self.percent(color.blue)))
        }
        var band = Band(width: width, colors: palette.colors.count)
        for top in stride(from: 0, to: height, by: 6) {
            if top > 0 { writer.write("-") }
            for row in 0..<min(6, height - top) {
                for column in 0..<width {
                    if let index = indices[(top + row) * width + column] { band.set(Int(index), column, row) }
                }
            }
            band.flush(&writer)
        }
        writer.write("\u{1B}\\")
        return writer.bytes
    }

    private static func percent(_ value: UInt8) -> UInt8 { UInt8(truncatingIfNeeded: (Int(value) * 100 + 127) / 255) }

    /// Six rows: for each colour, six bits a column.
    private struct Band {
        private let width: Int
        private var bits: [UInt8]
        /// For each colour, the column behind the last one that it is in.
        private var ends: [Int]

        init(width: Int, colors: Int) {
            self.width = width
            bits = [UInt8](repeating: 0, count: width * colors)
            ends = [Int](repeating: 0, count: colors)
        }

        mutating func set(_ color: Int, _ column: Int, _ row: Int) {
            bits[color * width + column] |= 1 << UInt8(row)
            ends[color] = max(ends[color], column + 1)
        }

        /// Writes the colours that are used, each from the left again, and clears them.
        mutating func flush(_ writer: inout EscapeWriter) {
            var isFirst = true
            for color in ends.indices where ends[color] > 0 {
                writer.write(isFirst ? "#" : "$#")
                writer.write(color)
                isFirst = false
                var column = 0
                while column < ends[color] {
                    let value = bits[color * width + column]
                    var end = column
                    while end < ends[color], bits[color * width + end] == value {
                        bits[color * width + end] = 0
                        end += 1
                    }
                    Self.write(value, count: end - column, &writer)
                    column = end
                }
                ends[color] = 0
            }
        }

        /// Writes a sixel several times: a repetition is shorter from the fourth on.
        private static func write(_ value: UInt8, count: Int, _ writer: inout EscapeWriter) {
            let sixel = UInt8(ascii: "?") + value
            guard count > 3 else { return (0..<count).forEach { _ in writer.write(sixel) } }
            writer.write("!")
            writer.write(count)
            writer.write(sixel)
        }
    }
}
