import ScopedNet
import ScopedNetImages

/// A photo of the list, by its line: a number, and words.
struct Photo {
    let number: Int
    let title: String

    init(_ line: String) {
        let parts = line.split(separator: " ", maxSplits: 1)
        number = parts.first.flatMap { Int($0) } ?? 0
        title = parts.count == 2 ? String(parts[1]) : line
    }

    /// The photo as the wall shows it.
    var small: ImageRequest { ImageRequest("photos/\(number)", size: PixelSize(320, 240), mode: .fill) }
    /// The photo as its page shows it.
    var large: ImageRequest { ImageRequest("photos/\(number)?large", priority: .high) }
}
