import CleanSlate
import Testing

@testable import ScopedNetImages

/// Sixels, read back by a small decoder.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct SixelTests {
    typealias Samples = ProcessingSamples

    /// A picture of sixels: for each dot, the colour in hundredths.
    private struct Decoded {
        var width = 0
        var height = 0
        var palette: [Int: [Int]] = [:]
        var dots: [[Int]?] = []
    }

    private struct Reader {
        var bytes: ArraySlice<UInt8>

        mutating func take(_ text: String) throws {
            try #require(bytes.starts(with: text.utf8), "\(text.debugDescription)")
            bytes = bytes.dropFirst(text.utf8.count)
        }

        mutating func numbers() -> [Int] {
            let text = bytes.prefix { ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: ";") }
            bytes = bytes.dropFirst(text.count)
            return String(decoding: text, as: UTF8.self).split(separator: ";").compactMap { Int($0) }
        }
    }

    private func decode(_ bytes: [UInt8]) throws -> Decoded {
        var (reader, result) = (Reader(bytes: bytes[...]), Decoded())
        try reader.take("\u{1B}P0;1;0q\"")
        let raster = reader.numbers()
        try #require(raster.count == 4 && raster.prefix(2) == [1, 1])
        (result.width, result.height) = (raster[2], raster[3])
        result.dots = Array(repeating: nil, count: result.width * result.height)
        var (color, column, top) = (0, 0, 0)
        while let byte = reader.bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "#"):
                let numbers = reader.numbers()
                color = try #require(numbers.first)
                if numbers.count > 1 {
                    try #require(numbers.count == 5 && numbers[1] == 2 && numbers[2...].allSatisfy { $0 <= 100 })
                    result.palette[color] = Array(numbers[2...])
                }
            case UInt8(ascii: "$"): column = 0
            case UInt8(ascii: "-"): (column, top) = (0, top + 6)
            case 0x1B:
                try #require(reader.bytes == [UInt8(ascii: "\\")])
                return result
            default:
                let isRun = byte == UInt8(ascii: "!")
                let numbers = isRun ? reader.numbers() : [1]
                let count = try #require(numbers.first)
                let next = isRun ? reader.bytes.popFirst() : byte
                let sixel = try #require(next)
                try #require((0x3F...0x7E).contains(sixel))
                for row in 0..<6 where (sixel - 0x3F) >> UInt8(row) & 1 == 1 {
                    for place in column..<column + count {
                        try #require(place < result.width && top + row < result.height)
                        let index = (top + row) * result.width + place
                        #expect(result.dots[index] == nil, "a dot has one colour")
                        let known: [Int] = try #require(result.palette[color])
                        result.dots[index] = known
                    }
                }
                column += count
            }
        }
        Issue.record("no end")
        return result
    }

    private func percent(_ value: UInt8) -> Int { (Int(value) * 100 + 127) / 255 }

    /// Up to 256 colours: each dot is as it was, and transparent ones are left out.
    @Test(arguments: [(1, 1), (5, 6), (6, 5), (20, 12), (19, 13), (256, 1), (1, 200)]) func fewColorsAreExact(_ width: Int, _ height: Int)
        throws
    {
        let image = try Samples.image(width, height) { x, y in
            (x + y) % 5 == 4 ? [7, 7, 7, 100] : [UInt8(x % 16 * 17), UInt8(y % 15 * 17), 5, 255]
        }
        let decoded = try decode(try TerminalPicture(image, columns: 200, rows: 200).bytes(for: .sixel))
        #expect((decoded.width, decoded.height) == (width, height))
        for (index, dot) in decoded.dots.enumerated() {
            let pixel = Samples.pixel(image, index % width, index / width)
            #expect(dot == (pixel[3] < 128 ? nil : pixel.prefix(3).map(percent)))
        }
    }

    /// Many colours: at most 256, near to what was there, and the mean of a neighbourhood is kept by dithering.
    @Test func manyColorsAreChosenAndDithered() throws {
        let image = try Samples.image(120, 90) { x, y in [UInt8(x * 2), UInt8(y * 2), UInt8(x + y), 255] }
        let decoded = try decode(try TerminalPicture(image, columns: 200, rows: 200).bytes(for: .sixel))
        #expect(decoded.palette.count <= 256 && decoded.palette.count > 200)
        #expect(decoded.dots.allSatisfy { $0 != nil })
        for top in stride(from: 0, to: 80, by: 10) {
            for left in stride(from: 0, to: 110, by: 10) {
                for channel in 0..<3 {
                    var (wanted, got) = (0, 0)
                    for place in 0..<100 {
                        let (x, y) = (left + place % 10, top + place / 10)
                        wanted += percent(Samples.pixel(image, x, y)[channel])
                        got += decoded.dots[y * 120 + x]?[channel] ?? 0
                    }
                    #expect(abs(wanted - got) < 300, "\(left), \(top)")
                }
            }
        }
    }

    /// 257 colours of which one is everywhere: it is chosen as it is.
    @Test func aCommonColorStays() throws {
        let image = try Samples.image(300, 40) { x, y in
            y < 2 ? [UInt8(x % 256), UInt8(x / 2), UInt8(y * 200), 255] : [200, 40, 90, 255]
        }
        let decoded = try decode(try TerminalPicture(image, columns: 200, rows: 200).bytes(for: .sixel))
        let common = decoded.dots.suffix(300 * 20).filter { $0 == [78, 16, 35] }.count
        #expect(common > 300 * 19)
    }

    @Test func runsAreShort() throws {
        let image = try Samples.image(500, 6) { _, _ in [255, 0, 0, 255] }
        let text = try TerminalPicture(image, columns: 200, rows: 200).text(for: .sixel)
        #expect(text == "\u{1B}P0;1;0q\"1;1;500;6#0;2;100;0;0#0!500~\u{1B}\\")
        let three = try TerminalPicture(try Samples.image(3, 6) { _, _ in [255, 0, 0, 255] }, columns: 9, rows: 9).text(for: .sixel)
        #expect(three.hasSuffix("#0~~~\u{1B}\\"))
        let clear = try TerminalPicture(try Samples.image(30, 13) { _, _ in [255, 0, 0, 0] }, columns: 9, rows: 9).text(for: .sixel)
        #expect(clear == "\u{1B}P0;1;0q\"1;1;30;13--\u{1B}\\")
    }

    @Test func aBandThatTakesTooMuchIsRefused() throws {
        let image = try Samples.image(1_000, 1, Samples.opaque)
        var limits = ImageLimits.standard
        limits.decodedBytes = 100_000
        #expect(throws: ImageError.exceeds(.decodedBytes, actual: 256_000, most: 100_000)) {
            try TerminalPicture(image, columns: 200, rows: 2, limits: limits).bytes(for: .sixel)
        }
    }
}
