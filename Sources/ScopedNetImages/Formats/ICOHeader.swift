/// The sides of the largest picture of an ICO. Its own header tells them, be it a bitmap or a PNG: those in the directory end at 256 and may be wrong.
enum ICOHeader {
    static func read(_ bytes: ByteView) throws(ImageError) -> ImageHeader.Reading {
        guard let count = bytes.u16LE(4) else { return .needsMore(6) }
        guard bytes.count >= 6 + count * 16 else { return .needsMore(6 + count * 16) }
        let place = try ICODirectory(bytes).largest.place.lowerBound
        guard bytes.count >= place + 4 else { return .needsMore(place + 4) }
        if ICODirectory.isPNG(bytes, at: place) {
            guard case .header(var header) = try PNGHeader.read(bytes, at: place, as: .ico) else { return .needsMore(place + 33) }
            header.frameCount = count
            return .header(header)
        }
        switch try BMPHeader.sides(bytes, at: place, .ico) {
        // The height is that of the colours and of the mask.
        case .known(let width, let height): return try ImageHeader.checked(.ico, width, height / 2, frames: count)
        case .needsMore(let count): return .needsMore(count)
        }
    }
}
