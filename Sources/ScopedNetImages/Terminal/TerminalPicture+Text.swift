extension TerminalPicture {
    /// The characters of plain text, from dark to light.
    private static let ramp = Array(" .:-=+*#%@".utf8)

    /// A character for each dot, by its luminance (ITU-R BT.601), for light text on a dark screen. No escape sequences.
    static func plain(_ dots: Dots) -> [UInt8] {
        var writer = EscapeWriter()
        for row in 0..<dots.height {
            if row > 0 { writer.write("\n") }
            dots.forEach(row: row) { _, color in
                guard let color else { return writer.write(UInt8(ascii: " ")) }
                let luminance = Int(color.red) * 299 + Int(color.green) * 587 + Int(color.blue) * 114
                writer.write(ramp[luminance * ramp.count / 255_001])
            }
        }
        return writer.bytes
    }

    /// An upper half block for each pair of dots, with the colour of the text above and that of its background below.
    ///
    /// A dot that the terminal shows through is the half that the block leaves free. Colours are only set where they
    /// change, and given back at the end of each row: a terminal would fill the rest of it otherwise.
    static func halfBlocks(_ dots: Dots) -> [UInt8] {
        var writer = EscapeWriter()
        for row in stride(from: 0, to: dots.height, by: 2) {
            if row > 0 { writer.write("\n") }
            let (upper, lower) = (dots.row(row), dots.row(row + 1))
            var pen = Pen()
            for (above, below) in zip(upper, lower) {
                switch (above, below) {
                case (let above?, let below):
                    pen.set(above, below, &writer)
                    writer.write("▀")
                case (nil, let below?):
                    pen.set(below, nil, &writer)
                    writer.write("▄")
                case (nil, nil):
                    pen.set(nil, nil, &writer)
                    writer.write(" ")
                }
            }
            writer.write("\u{1B}[0m")
        }
        return writer.bytes
    }

    /// The colours that are set (XTerm Control Sequences, SGR 38 and 48; ISO 8613-6).
    private struct Pen {
        private var text: PixelColor?
        private var background: PixelColor?

        /// Sets the colours where they are others. A text colour of nil is any.
        mutating func set(_ text: PixelColor?, _ background: PixelColor?, _ writer: inout EscapeWriter) {
            let (changesText, changesBackground) = (text != nil && text != self.text, background != self.background)
            guard changesText || changesBackground else { return }
            writer.write("\u{1B}[")
            if changesText, let text {
                writer.write("38;2;")
                writer.write(text)
                self.text = text
                if changesBackground { writer.write(";") }
            }
            if changesBackground {
                writer.write(background == nil ? "49" : "48;2;")
                if let background { writer.write(background) }
                self.background = background
            }
            writer.write("m")
        }
    }
}
