#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Small files that ask for much work: scans, chunks, and pixels behind the last one. They are refused by their number; the time is printed.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct CodecBombTests {
    typealias S = CodecSamples

    /// A progressive JPEG in grey, of scans that say of all blocks at once that they are empty. (T.81 section G.1.2)
    private func jpeg(_ width: Int, _ height: Int, scans: Int, isWhole: Bool = true) -> Data {
        func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] { [0xFF, marker] + ImageSamples.be16(content.count + 2) + content }
        /// One code, of one bit.
        func table(_ kind: UInt8, _ symbol: UInt8) -> [UInt8] { [kind, 1] + [UInt8](repeating: 0, count: 15) + [symbol] }
        let head =
            segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
            + segment(0xC2, [8] + ImageSamples.be16(height) + ImageSamples.be16(width) + [1, 1, 0x11, 0])
            + segment(0xC4, table(0, 0) + table(0x10, 0xE0))
        let runs = ((width + 7) / 8 * ((height + 7) / 8) + 32_766) / 32_767
        // Each run is a zero and fourteen ones, which are 32,767 blocks: two make thirty bits.
        let scan = segment(0xDA, [1, 1, 0, 1, 63, 1]) + Self.packed(Array(repeating: [0] + [UInt8](repeating: 1, count: 14), count: runs))
        let all = Array(repeatElement(scan, count: scans).joined())
        return Data([0xFF, 0xD8] + head + all + (isWhole ? [0xFF, 0xD9] : []))
    }

    /// Bits, filled up with ones, with a zero behind each 0xFF.
    private static func packed(_ bits: [[UInt8]]) -> [UInt8] {
        let bits = Array(bits.joined())
        return stride(from: 0, to: bits.count, by: 8).flatMap { start -> [UInt8] in
            let byte = (start..<start + 8).reduce(0) { $0 << 1 | ($1 < bits.count ? bits[$1] : 1) }
            return byte == 0xFF ? [0xFF, 0] : [byte]
        }
    }

    private func print(_ name: String, _ seconds: Double) { Swift.print("CodecBombTests: \(name): \(Int(seconds * 1e6)) µs of CPU") }

    // MARK: Scans

    @Test func scansAllowedGoByPixels() {
        var limits = ImageLimits.standard
        #expect(limits.scans(width: 160, height: 120) == 500 && limits.scans(width: 1_600, height: 1_000) == 500)
        #expect(limits.scans(width: 4_000, height: 3_000) == 66 && limits.scans(width: 4_032, height: 3_024) == 65)
        #expect(limits.scans(width: 8_000, height: 5_000) == 32 && limits.scans(width: .max, height: 2) == 32)
        #expect(limits.scans(width: 0, height: 0) == 500)
        limits.scans = 3
        #expect(limits.scans(width: 4_000, height: 3_000) == 3 && limits.scans(width: .max, height: .max) == 3)
        limits.scans = 1_000
        #expect(limits.scans(width: 4_000, height: 3_000) == 132 && limits.scans(width: 1, height: 1) == 1_000)
        limits.scans = .max
        #expect(limits.scans(width: 4_000, height: 3_000) > 1_000_000 && limits.scans(width: 1, height: 1) == .max)
    }

    /// The first number is within the limit of 500.
    @Test(arguments: [67, 490, 10_000]) func manyScansOfALargePictureAreRefused(_ scans: Int) throws {
        let data = jpeg(4_000, 3_000, scans: scans)
        let seconds = S.cpuTime {
            for size in [nil, PixelSize(width: 100, height: 75)] {
                #expect(throws: ImageError.exceeds(.scans, actual: 67, most: 66)) { try S.decode(data, size: size) }
            }
        }
        print("\(scans) scans, 12 Mpx, refused twice", seconds)
    }

    @Test func asManyScansAsAreAllowedAreDecoded() throws {
        let data = jpeg(4_000, 3_000, scans: 66)
        let seconds = try S.cpuTime {
            let image = try S.decode(data, size: PixelSize(width: 100, height: 75))
            #expect(image.width == 500)
        }
        print("66 scans, 12 Mpx, decoded", seconds)
        let small = jpeg(160, 120, scans: 500)
        #expect(try S.decode(small).width == 160)
        #expect(throws: ImageError.exceeds(.scans, actual: 501, most: 500)) { try S.decode(jpeg(160, 120, scans: 501)) }
    }

    /// They come before the damage that a decoder would find in the first of them.
    @Test func scansAreCountedBeforeAnyIsDecoded() throws {
        var data = jpeg(4_000, 3_000, scans: 100, isWhole: false)
        let first = try #require(S.scans(data).first)
        data[first + 5] = 9  // a component that is none
        #expect(throws: ImageError.exceeds(.scans, actual: 67, most: 66)) { try S.decode(data) }
    }

    /// In pieces, and all at once.
    @Test(arguments: [false, true]) func previewsHaveTheSameBound(_ isWhole: Bool) throws {
        let data = jpeg(4_000, 3_000, scans: 490)
        let options = ImageDecodingOptions(size: PixelSize(width: 100, height: 75))
        let previewer = try #require(try JPEGPreviewer(header: try S.header(data), options: options))
        let seconds = S.cpuTime {
            #expect(throws: ImageError.exceeds(.scans, actual: 67, most: 66)) {
                _ = isWhole ? try previewer.picture(data) : try previewer.preview(data)
            }
        }
        print("490 scans, 12 Mpx, previewer", seconds)
    }

    /// Its markers are no scans: neither those within a segment, nor those behind the end.
    @Test func markersOfOtherPicturesAreNotCounted() throws {
        let (plain, other) = (try S.file("scans.jpg"), [UInt8](jpeg(16, 16, scans: 600)))
        let segment = Array(other.prefix(20_000))
        let inside = plain.prefix(2) + Data([0xFF, 0xE2] + ImageSamples.be16(segment.count + 2) + segment) + plain.dropFirst(2)
        #expect(try S.decode(Data(inside)).width == 160)
        #expect(try S.decode(plain + Data(other)).width == 160)
    }

    // MARK: Chunks

    /// Comments without content: 64 MB of them are 16 million. In the first position they would be refused by the header's limit.
    @Test(arguments: [0, 2]) func manySegmentsOfAJPEGAreRefused(_ behind: Int) throws {
        let whole = try S.file("scans.jpg")
        // Behind the first segment of the file, or behind a scan.
        let place = behind == 0 ? 4 + Int(whole[whole.startIndex + 4]) << 8 + Int(whole[whole.startIndex + 5]) : S.scans(whole)[behind]
        let thousand = Data(repeatElement([0xFF, 0xFE, 0, 2] as [UInt8], count: 1_000).joined())
        func file(_ thousands: Int) -> Data {
            (0..<thousands).reduce(into: whole.prefix(place)) { data, _ in data.append(thousand) } + whole.dropFirst(place)
        }
        let data = file(15_000)
        let header = try S.header(whole)
        let seconds = S.cpuTime {
            #expect(throws: ImageError.exceeds(.chunks, actual: 50_001, most: 50_000)) {
                _ = try JPEGDecoder().decode(data, header: header, options: ImageDecodingOptions())
            }
        }
        print("15,000,000 segments of a JPEG", seconds)
        let previewer = try #require(try JPEGPreviewer(header: header, options: ImageDecodingOptions()))
        #expect(throws: ImageError.exceeds(.chunks, actual: 50_001, most: 50_000)) { _ = try previewer.picture(data) }
        #expect(try JPEGDecoder().decode(file(40), header: header, options: ImageDecodingOptions()).width == 160)
    }

    @Test(arguments: ["tEXt", "IDAT", "zzZz"]) func manyChunksBehindThePixelsAreRefused(_ name: String) throws {
        let (whole, chunk) = (try S.file("png-2-8.png"), S.chunk(name, []))
        // The last chunk is IEND, of 12 bytes; those before it are counted.
        func file(_ count: Int) -> Data {
            whole.dropLast(12) + Data(repeatElement(chunk, count: count).joined()) + whole.suffix(12)
        }
        let data = file(1_000_000)
        let seconds = S.cpuTime {
            #expect(throws: ImageError.exceeds(.chunks, actual: 50_001, most: 50_000)) { try S.decode(data) }
        }
        print("1,000,000 chunks \(name)", seconds)
        #expect(try S.decode(file(40_000)).width == S.width)
    }

    /// Libwebp would go over them again for each 16 KiB of the file: a second for these, minutes for 64 MB.
    @Test func manyChunksBeforeThePixelsOfAWebPAreRefused() throws {
        let lossy = try S.file("lossy.webp")
        let canvas = Array("VP8X".utf8) + [10, 0, 0, 0, 0, 0, 0, 0, UInt8(S.photo.width - 1), 0, 0, UInt8(S.photo.height - 1), 0, 0]
        func file(_ count: Int) -> Data {
            let chunks = Data(repeatElement(Array("zzzz".utf8) + [0, 0, 0, 0], count: count).joined())
            let body = Data(Array("WEBP".utf8) + canvas) + chunks + lossy.dropFirst(12)
            return Data(Array("RIFF".utf8) + ImageSamples.be32(body.count).reversed()) + body
        }
        let data = file(1_000_000)
        let seconds = S.cpuTime {
            #expect(throws: ImageError.exceeds(.chunks, actual: 10_001, most: 10_000)) { try S.decode(data) }
        }
        print("1,000,000 chunks of a WebP", seconds)
        #expect(try S.decode(file(9_000)).width == S.photo.width)
    }

    /// Zeros that are never shown: 1.6 MB of the file, of which 16 KiB are inflated.
    @Test(arguments: ["png-2-8.png", "png-2-8-i.png"]) func pixelsBehindTheLastRowAreRefused(_ name: String) throws {
        let file = try S.file(name)
        let place = try #require(file.firstRange(of: Data("IDAT".utf8))).lowerBound - 4
        let start = Data(file.prefix(place))
        func picture(_ count: Int) -> Data {
            start + Data(S.chunk("IDAT", S.inflating(count)) + S.chunk("IEND", []))
        }
        let data = picture(1_000_000)
        let seconds = S.cpuTime {
            #expect(throws: ImageError.damaged(.png, "it has more pixels than rows")) { try S.decode(data) }
        }
        print("258 MB behind the pixels, \(name)", seconds)
    }
}
#endif
