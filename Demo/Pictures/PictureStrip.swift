import ScopedNetImages

/// Pictures beside each other, each above its caption, as lines for a terminal (pure).
///
/// Where the terminal shows pixels the lines are blank, and the last one goes back to draw over them: all of them are on the screen by then,
/// so that nothing scrolls between two pictures of a row.
struct PictureStrip {
    let pictures: [ShownPicture]
    /// The columns for each picture.
    let columns: Int
    let graphics: Graphics
    let style: Style

    private static let gap = 2

    /// A picture in its place.
    private struct Tile {
        var lines: [(text: String, width: Int)]
        /// Pixels to be drawn over the lines.
        var pixels: String?
    }

    func lines(width: Int) -> [String] {
        let perRow = max(1, width / (columns + Self.gap))
        return stride(from: 0, to: pictures.count, by: perRow).flatMap { row(pictures[$0..<min($0 + perRow, pictures.count)]) }
    }

    private func row(_ pictures: ArraySlice<ShownPicture>) -> [String] {
        let tiles = pictures.map { tile($0) }
        let height = tiles.map(\.lines.count).max() ?? 1
        var lines = (0..<height).map { number in
            tiles.map { padded($0.lines.indices.contains(number) ? $0.lines[number] : ("", 0)) }.joined()
        }
        lines.append(pictures.map { padded(caption($0.facts)) }.joined() + overlay(tiles, height))
        return lines
    }

    private func padded(_ line: (text: String, width: Int)) -> String {
        String(repeating: " ", count: Self.gap) + line.text + String(repeating: " ", count: max(0, columns - line.width))
    }

    private func caption(_ facts: PictureFacts) -> (text: String, width: Int) {
        var text = facts.name
        if case .shown(let size, _) = facts.outcome { text += " \(size.width)×\(size.height)" }
        text = text.printable.clipped(to: columns)
        return (style(.dim, text), text.count)
    }

    // MARK: A picture

    private func tile(_ picture: ShownPicture) -> Tile {
        guard let image = picture.image else { return message(picture.facts.result) }
        let scaled = TerminalPicture(image, columns: columns, rows: min(columns / 2, graphics.rows), cell: graphics.cell)
        guard let text = try? scaled.text(for: graphics.capability) else { return message("too large for this terminal") }
        let cells = scaled.cells(for: graphics.capability)
        switch graphics.capability {
        case .kitty, .sixel: return Tile(lines: Array(repeating: ("", 0), count: cells.rows), pixels: text)
        default: return Tile(lines: text.split(separator: "\n", omittingEmptySubsequences: false).map { (String($0), cells.columns) })
        }
    }

    /// The text in the place of a picture.
    private func message(_ text: String) -> Tile {
        var lines: [String] = []
        for word in text.printable.split(separator: " ").map({ String($0).clipped(to: columns) }) {
            if let last = lines.last, last.count + 1 + word.count <= columns {
                lines[lines.count - 1] = last + " " + word
            } else {
                lines.append(word)
            }
        }
        return Tile(lines: lines.map { (style(.red, $0), $0.count) })
    }

    // MARK: Pixels

    /// Goes up to the first line, draws each picture in its column, and comes back.
    private func overlay(_ tiles: [Tile], _ height: Int) -> String {
        guard tiles.contains(where: { $0.pixels != nil }) else { return "" }
        let drawn = tiles.enumerated().map { index, tile -> String in
            guard let pixels = tile.pixels else { return "" }
            // Terminals differ in where the cursor is after a picture.
            return "\u{1B}[\(index * (columns + Self.gap) + Self.gap + 1)G\u{1B}7\(pixels)\u{1B}8"
        }
        return "\u{1B}[\(height)F\(drawn.joined())\u{1B}[\(height)E"
    }
}
