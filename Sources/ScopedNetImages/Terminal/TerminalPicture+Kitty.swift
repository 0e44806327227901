extension TerminalPicture {
    /// The bytes of a chunk before base64 makes them 4,096, the most that the protocol allows.
    private static let chunk = 3_072

    /// The picture for the kitty graphics protocol: RGBA in chunks of base64, shown at the cursor, without an answer of the terminal.
    ///
    /// - Parameters:
    ///   - dots: the pixels.
    ///   - cells: the cells that the terminal scales it to; nil for its size in pixels.
    /// - Returns: the escape sequences, one for each chunk.
    static func kitty(_ dots: Dots, cells: Cells?) -> [UInt8] {
        var pixels: [UInt8] = []
        pixels.reserveCapacity(dots.width * dots.height * 4)
        for row in 0..<dots.height {
            dots.forEachWithAlpha(row: row) { color in
                pixels.append(color.red)
                pixels.append(color.green)
                pixels.append(color.blue)
                pixels.append(color.alpha)
            }
        }
        var writer = EscapeWriter()
        for start in stride(from: 0, to: pixels.count, by: chunk) {
            let end = min(start + chunk, pixels.count)
            writer.write("\u{1B}_G")
            if start == 0 { writeHeader(dots, cells, &writer) }
            writer.write(end < pixels.count ? "m=1;" : "m=0;")
            writeBase64(pixels[start..<end], &writer)
            writer.write("\u{1B}\\")
        }
        return writer.bytes
    }

    private static func writeHeader(_ dots: Dots, _ cells: Cells?, _ writer: inout EscapeWriter) {
        writer.write("a=T,f=32,q=2,s=")
        writer.write(dots.width)
        writer.write(",v=")
        writer.write(dots.height)
        if let cells {
            writer.write(",c=")
            writer.write(cells.columns)
            writer.write(",r=")
            writer.write(cells.rows)
        }
        writer.write(",")
    }

    /// Base64 with padding (RFC 4648 section 4).
    private static func writeBase64(_ bytes: ArraySlice<UInt8>, _ writer: inout EscapeWriter) {
        bytes.withUnsafeBufferPointer { bytes in
            for place in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - place)
                var bits = UInt32(bytes[place]) << 16
                if count > 1 { bits |= UInt32(bytes[place + 1]) << 8 }
                if count > 2 { bits |= UInt32(bytes[place + 2]) }
                writer.write(digit(bits >> 18))
                writer.write(digit(bits >> 12 & 63))
                writer.write(count > 1 ? digit(bits >> 6 & 63) : UInt8(ascii: "="))
                writer.write(count > 2 ? digit(bits & 63) : UInt8(ascii: "="))
            }
        }
    }

    /// The letters A to Z and a to z, the digits, plus and slash.
    private static func digit(_ value: UInt32) -> UInt8 {
        let value = UInt8(truncatingIfNeeded: value)
        switch value {
        case 0..<26: return UInt8(ascii: "A") + value
        case 26..<52: return UInt8(ascii: "a") + value - 26
        case 52..<62: return UInt8(ascii: "0") + value - 52
        case 62: return UInt8(ascii: "+")
        default: return UInt8(ascii: "/")
        }
    }
}
