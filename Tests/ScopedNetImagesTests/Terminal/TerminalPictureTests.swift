import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Pictures as text, read back dot by dot.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct TerminalPictureTests {
    typealias Samples = ProcessingSamples
    typealias Cells = TerminalPicture.Cells

    // MARK: Sizes

    @Test func thePictureFitsAndKeepsItsShape() throws {
        let photo = TerminalPicture(try Samples.image(400, 300, Samples.smoothed), columns: 80, rows: 24)
        // 24 rows of 20 pixels are 480 high, and 640 wide is 64 columns.
        #expect(photo.cells(for: .halfBlocks) == Cells(columns: 64, rows: 24))
        #expect(photo.cells(for: .plain) == Cells(columns: 64, rows: 24))
        // Pixels are not enlarged.
        #expect(photo.cells(for: .kitty) == Cells(columns: 40, rows: 15))
        let wide = TerminalPicture(try Samples.image(400, 4, Samples.smoothed), columns: 80, rows: 24, cell: PixelSize(8, 16))
        #expect(wide.cells(for: .halfBlocks) == Cells(columns: 80, rows: 1))
        #expect(wide.cells(for: .sixel) == Cells(columns: 50, rows: 1))
        let icon = TerminalPicture(try Samples.image(16, 16, Samples.smoothed), columns: 80, rows: 24)
        #expect(icon.cells(for: .halfBlocks) == Cells(columns: 16, rows: 8))
    }

    @Test func anyBoundsWillDo() throws {
        for (width, height) in [(1, 1), (3_000, 1), (1, 3_000), (50, 40)] {
            let image = try Samples.image(width, height) { _, _ in [1, 2, 3, 255] }
            for (columns, rows) in [(Int.min, 0), (1, 1), (.max, .max), (.max, 1), (1, .max), (80, 24)] {
                for cell in [nil, PixelSize(0, -1), PixelSize(.max, .max), PixelSize(7, 13)] {
                    let picture = TerminalPicture(image, columns: columns, rows: rows, cell: cell)
                    for capability in TerminalPicture.Capability.allCases {
                        let cells = picture.cells(for: capability)
                        #expect(cells.columns >= 1 && cells.rows >= 1 && cells.columns <= max(1, columns) && cells.rows <= max(1, rows))
                    }
                }
            }
            let bytes = try TerminalPicture.Capability.allCases.map {
                try TerminalPicture(image, columns: .max, rows: .max).bytes(for: $0)
            }
            #expect(bytes.allSatisfy { !$0.isEmpty })
        }
    }

    // MARK: Text

    @Test func plainTextIsByLuminance() throws {
        let colors: [ProcessingSamples.Pixel] = [[0, 0, 0, 255], [255, 255, 255, 255], [128, 128, 128, 255], [255, 255, 255, 0]]
        let image = try Samples.image(4, 4) { x, y in colors[(x + y) % 4] }
        let text = try TerminalPicture(image, columns: 4, rows: 4, cell: PixelSize(8, 8)).text(for: .plain)
        #expect(text == " @+ \n@+  \n+  @\n  @+")
        let white = TerminalPicture(image, columns: 4, rows: 4, cell: PixelSize(8, 8), background: .white)
        #expect(try white.text(for: .plain) == " @+@\n@+@ \n+@ @\n@ @+")
    }

    /// A small reader of SGR: the colours of each cell, upper and lower.
    private func readBlocks(_ text: String) throws -> [[(PixelColor?, PixelColor?)]] {
        try text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            var (cells, text, background) = ([(PixelColor?, PixelColor?)](), PixelColor?.none, PixelColor?.none)
            var rest = line[...]
            while let character = rest.popFirst() {
                switch character {
                case "▀": cells.append((text, background))
                case "▄": cells.append((background, text))
                case " ": cells.append((background, background))
                default:
                    let bracket = rest.popFirst()
                    try #require(character == "\u{1B}" && bracket == "[")
                    let end = try #require(rest.firstIndex(of: "m"))
                    var numbers = rest[..<end].split(separator: ";").compactMap { Int($0) }[...]
                    rest = rest[end...].dropFirst()
                    while let number = numbers.popFirst() {
                        if number == 0 { (text, background) = (nil, nil) }
                        if number == 49 { background = nil }
                        guard number == 38 || number == 48 else { continue }
                        let space = numbers.popFirst()
                        try #require(space == 2 && numbers.count >= 3)
                        let parts = numbers.prefix(3).map { UInt8($0) }
                        numbers = numbers.dropFirst(3)
                        if number == 38 { text = PixelColor(parts[0], parts[1], parts[2]) }
                        if number == 48 { background = PixelColor(parts[0], parts[1], parts[2]) }
                    }
                }
            }
            #expect(text == nil && background == nil, "a row gives its colours back")
            return cells
        }
    }

    @Test(arguments: [8, 7]) func halfBlocksAreThePicture(_ height: Int) throws {
        let image = try Samples.image(9, height) { x, y in
            (x + y) % 4 == 0 ? [9, 9, 9, 0] : x > 5 ? [1, 2, 3, 255] : Samples.opaque(x, y)
        }
        let rows = try readBlocks(try TerminalPicture(image, columns: 80, rows: 24).text(for: .halfBlocks))
        #expect(rows.count == 4 && rows.allSatisfy { $0.count == 9 })
        for y in 0..<8 {
            for x in 0..<9 {
                let pixel = y < height ? Samples.pixel(image, x, y) : [0, 0, 0, 0]
                let wanted = pixel[3] == 0 ? nil : PixelColor(pixel[0], pixel[1], pixel[2])
                #expect((y % 2 == 0 ? rows[y / 2][x].0 : rows[y / 2][x].1) == wanted, "\(x), \(y)")
            }
        }
    }

    @Test func transparencyIsMixedWithTheBackground() throws {
        let straight = try Samples.image(1, 2) { _, y in y == 0 ? [200, 100, 0, 51] : [0, 0, 0, 0] }
        for image in [straight, try Samples.premultiplied(straight)] {
            let over = try readBlocks(try TerminalPicture(image, columns: 1, rows: 1, background: .white).text(for: .halfBlocks))
            #expect(over[0][0].0 == PixelColor(244, 224, 204) && over[0][0].1 == .white)
            let clear = try readBlocks(try TerminalPicture(image, columns: 1, rows: 1).text(for: .halfBlocks))
            #expect(clear[0][0].0 == nil && clear[0][0].1 == nil)
        }
    }

    /// Colours that do not change are not written again.
    @Test func coloursAreSetOnce() throws {
        let image = try Samples.image(40, 2) { _, y in y == 0 ? [1, 2, 3, 255] : [4, 5, 6, 255] }
        let text = try TerminalPicture(image, columns: 40, rows: 1).text(for: .halfBlocks)
        #expect(text == "\u{1B}[38;2;1;2;3;48;2;4;5;6m" + String(repeating: "▀", count: 40) + "\u{1B}[0m")
    }

    // MARK: Kitty

    private struct Transmission {
        var keys: [String: String] = [:]
        var bytes: [UInt8] = []
    }

    private func readKitty(_ text: String) throws -> Transmission {
        var result = Transmission()
        let chunks = text.split(separator: "\u{1B}_G", omittingEmptySubsequences: false)
        try #require(chunks.first == "")
        for (index, chunk) in chunks.dropFirst().enumerated() {
            try #require(chunk.hasSuffix("\u{1B}\\"))
            let parts = chunk.dropLast(2).split(separator: ";", omittingEmptySubsequences: false)
            try #require(parts.count == 2)
            let keys = parts[0].split(separator: ",").map { $0.split(separator: "=") }
            if index == 0 { for key in keys { result.keys[String(key[0])] = String(key[1]) } } else { #expect(keys.count == 1) }
            #expect(keys.last?.first == "m" && keys.last?.last == (index == chunks.count - 2 ? "0" : "1"))
            #expect(parts[1].utf8.count <= 4_096 && parts[1].utf8.count % 4 == 0)
            result.bytes += try #require(Data(base64Encoded: String(parts[1])))
        }
        return result
    }

    @Test(arguments: [(1, 1), (2, 1), (1, 3), (24, 32), (32, 24), (27, 31), (70, 45)]) func chunksAreThePicture(
        _ width: Int, _ height: Int
    ) throws {
        let image = try Samples.image(width, height, Samples.alpha)
        let sent = try readKitty(try TerminalPicture(image, columns: 80, rows: 24).text(for: .kitty))
        #expect(sent.bytes == Samples.bytes(image))
        let cells = TerminalPicture(image, columns: 80, rows: 24).cells(for: .kitty)
        #expect(
            sent.keys == [
                "a": "T", "f": "32", "q": "2", "s": "\(width)", "v": "\(height)", "c": "\(cells.columns)", "r": "\(cells.rows)",
                "m": width * height * 4 > 3_072 ? "1" : "0",
            ])
        // With cells of a known size, its pixels are those of the screen.
        let exact = try readKitty(try TerminalPicture(image, columns: 80, rows: 24, cell: PixelSize(9, 18)).text(for: .kitty))
        #expect(exact.keys["c"] == nil && exact.keys["r"] == nil && exact.bytes == sent.bytes)
    }

    @Test func kittyTakesStraightAlpha() throws {
        let image = try Samples.image(2, 1, isPremultiplied: true) { x, _ in x == 0 ? [50, 100, 0, 100] : [0, 0, 0, 0] }
        #expect(try readKitty(try TerminalPicture(image, columns: 9, rows: 9).text(for: .kitty)).bytes == [128, 255, 0, 100, 0, 0, 0, 0])
        let over = TerminalPicture(image, columns: 9, rows: 9, background: PixelColor(10, 20, 30))
        #expect(try readKitty(try over.text(for: .kitty)).bytes == [56, 112, 18, 255, 10, 20, 30, 255])
    }
}

extension ProcessingSamples {
    static func smoothed(_ x: Int, _ y: Int) -> Pixel { [UInt8(x % 256), UInt8(y % 256), 90, 255] }
}
