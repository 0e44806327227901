import CPlainImages
import Foundation

/// A hostile file.
struct Bomb: Sendable {
    /// The budget that it has to be refused or decoded in.
    enum Budget: Sendable {
        /// The header tells: 1 ms, 1 MiB.
        case header
        /// A limit tells: 50 ms of processor time, and memory for these bytes.
        case limit(bytes: Int)
    }

    /// The kind of reading.
    enum Reading: Sendable { case picture, animation }

    let name: String
    let file: String
    let measured: String
    var reading = Reading.picture
    let budget: Budget
    let make: @Sendable () -> Data

    static var all: [Bomb] { headers + limits }

    // MARK: The header tells

    private static let headers = [
        Bomb(name: "PNG 30,000²", file: "large.png", measured: "a whole file, one bit a pixel", budget: .header) {
            plain_png_bomb(30_000).data
        },
        Bomb(name: "GIF 65,535²", file: "large.gif", measured: "one frame", budget: .header) { BombBytes.gif(65_535, 65_535, frames: 1) },
        Bomb(name: "ICO, PNG 30,000² inside", file: "large.ico", measured: "a whole PNG", budget: .header) {
            BombBytes.ico(plain_png_bomb(30_000).data)
        },
        Bomb(name: "TIFF 40,000²", file: "large.tif", measured: "40,000 strips, all the same bytes", budget: .header) {
            BombBytes.tiff(40_000)
        },
        Bomb(name: "WebP 16,384²", file: "large.webp", measured: "lossless", budget: .header) { BombBytes.webP(16_384) },
        Bomb(name: "WebP canvas 2²⁴ × 2²⁴", file: "canvas.webp", measured: "animated", budget: .header) {
            BombBytes.animatedWebP(1 << 24, frames: 1)
        },
        Bomb(name: "JPEG 65,500²", file: "large.jpg", measured: "a megabyte of pixels", budget: .header) { BombBytes.jpeg(65_500) },
        Bomb(name: "BMP 2³¹-1 × 2³¹-1", file: "large.bmp", measured: "24 bits a pixel", budget: .header) { BombBytes.bmp() },
    ]

    // MARK: A limit tells

    private static let limits = [
        Bomb(name: "JPEG, 10,000 scans", file: "scans-small.jpg", measured: "160 × 120", budget: .limit(bytes: 1 << 20)) {
            BombBytes.scans(160, 120, count: 10_000)
        },
        Bomb(
            name: "JPEG, 10,000 scans, 12 Mpx", file: "scans.jpg", measured: "scans of a few bytes each",
            budget: .limit(bytes: 12_000_000 * 6)
        ) {
            BombBytes.scans(4_000, 3_000, count: 10_000)
        },
        Bomb(
            name: "JPEG, 490 scans, 12 Mpx", file: "scans-490.jpg", measured: "within the limit of 500",
            budget: .limit(bytes: 12_000_000 * 6)
        ) {
            BombBytes.scans(4_000, 3_000, count: 486)
        },
        Bomb(
            name: "GIF, 100,000 frames", file: "frames.gif", measured: "AnimatedImage, 1,000 × 1,000", reading: .animation,
            budget: .limit(bytes: 4 << 20)
        ) { BombBytes.gif(1_000, 1_000, frames: 100_000) },
        Bomb(
            name: "WebP, 100,000 frames", file: "frames.webp", measured: "AnimatedImage, 1,000 × 1,000; a copy of the file",
            reading: .animation,
            budget: .limit(bytes: 16 << 20)
        ) { BombBytes.animatedWebP(1_000, frames: 100_000) },
        Bomb(
            name: "WebP, 100,000 frames, still", file: "frames-still.webp", measured: "the first frame alone; a copy of the file",
            budget: .limit(bytes: 16 << 20)
        ) { BombBytes.animatedWebP(1_000, frames: 100_000) },
        Bomb(
            name: "PNG, 1,000,000 chunks first", file: "chunks.png", measured: "empty tEXt before the pixels",
            budget: .limit(bytes: 1 << 20)
        ) {
            BombBytes.png(before: BombBytes.chunks(1_000_000))
        },
        Bomb(
            name: "PNG, 1,000,000 chunks last", file: "chunks-last.png", measured: "empty tEXt behind the pixels, 13 MB",
            budget: .limit(bytes: 1 << 20)
        ) { BombBytes.png(after: BombBytes.chunks(1_000_000)) },
        Bomb(name: "PNG, zTXt of 900 MB", file: "text.png", measured: "packed to 900 KB, before the pixels", budget: .limit(bytes: 1 << 20))
        {
            BombBytes.png(before: BombBytes.packed("zTXt", 900_000_000))
        },
        Bomb(
            name: "PNG, iCCP of 900 MB", file: "profile.png", measured: "packed to 900 KB, before the pixels",
            budget: .limit(bytes: 1 << 20)
        ) {
            BombBytes.png(before: BombBytes.packed("iCCP", 900_000_000))
        },
        Bomb(name: "PNG, tEXt of 60 MB", file: "long-text.png", measured: "behind the pixels", budget: .limit(bytes: 1 << 20)) {
            BombBytes.png(after: BombBytes.chunk("tEXt", Data(count: 60_000_000)))
        },
        Bomb(
            name: "PNG, chunk of 2 GB announced", file: "announced.png", measured: "tEXt before the pixels, cut short",
            budget: .limit(bytes: 1 << 20)
        ) {
            BombBytes.png(before: BombBytes.be32(0x7FFF_FFFF) + Data("tEXt".utf8))
        },
    ]
}
