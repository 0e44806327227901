/// Bytes for a terminal, put together piece by piece.
struct EscapeWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ text: StaticString) { text.withUTF8Buffer { bytes += $0 } }

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    /// Writes a number of zero or more, in decimal.
    mutating func write(_ number: Int) {
        if number >= 10 { write(number / 10) }
        bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
    }

    /// Writes red, green and blue with semicolons between.
    mutating func write(_ color: PixelColor) {
        write(Int(color.red))
        write(";")
        write(Int(color.green))
        write(";")
        write(Int(color.blue))
    }
}
