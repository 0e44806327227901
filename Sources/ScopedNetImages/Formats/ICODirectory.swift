/// The pictures of an ICO, as its directory tells of them.
struct ICODirectory {
    struct Entry {
        let width: Int
        let height: Int
        /// The bytes of the picture, which may be a bitmap without its file header, or a PNG.
        let place: Range<Int>
    }

    private let entries: [Entry]
    /// The first among those with most pixels.
    let largest: Entry

    /// Reads what follows the first six bytes.
    ///
    /// - Throws: `damaged` without any picture.
    init(_ bytes: ByteView) throws(ImageError) {
        entries = (0..<(bytes.u16LE(4) ?? 0)).compactMap { index in
            let entry = 6 + index * 16
            guard let wide = bytes.u8(entry), let high = bytes.u8(entry + 1), let length = bytes.u32LE(entry + 8),
                let start = bytes.u32LE(entry + 12), length > 0
            else { return nil }
            // Zero stands for 256.
            return Entry(width: wide == 0 ? 256 : Int(wide), height: high == 0 ? 256 : Int(high), place: start..<start + length)
        }
        guard var largest = entries.first else { throw .damaged(.ico, "no pictures") }
        for entry in entries where entry.width * entry.height > largest.width * largest.height { largest = entry }
        self.largest = largest
    }

    /// The smallest picture that is large enough and whole; the largest one where none is, or no size is wanted. One with a side beyond those of the
    /// header, which are of the largest picture itself, is left out: no picture grows.
    func best(for wanted: (width: Int, height: Int)?, header: ImageHeader, within byteCount: Int) -> Entry {
        guard let wanted else { return largest }
        return entries.filter { entry in
            entry.width >= wanted.width && entry.height >= wanted.height && entry.place.upperBound <= byteCount
                && entry.width <= header.width && entry.height <= header.height
        }.min { $0.width * $0.height < $1.width * $1.height } ?? largest
    }

    static func isPNG(_ bytes: ByteView, at place: Int) -> Bool { bytes.has([0x89, 0x50, 0x4E, 0x47], at: place) }
}
