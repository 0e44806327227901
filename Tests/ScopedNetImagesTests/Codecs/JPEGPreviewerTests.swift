#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// Previews of a progressive JPEG while it arrives.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct JPEGPreviewerTests {
    typealias S = CodecSamples

    private func previewer(_ data: Data, size: PixelSize? = nil, limits: ImageLimits = .standard) throws -> JPEGPreviewer? {
        try JPEGPreviewer(header: try S.header(data), options: ImageDecodingOptions(size: size, limits: limits))
    }

    /// One for each scan, the last of them the picture itself.
    @Test(arguments: [1, 7, 64]) func eachScanIsShownOnce(_ step: Int) throws {
        let data = try S.file("scans.jpg")
        let (size, whole) = (PixelSize(width: 40, height: 30), try S.decode(data, size: PixelSize(width: 40, height: 30)))
        let previewer = try #require(try previewer(data, size: size))
        var differences: [Double] = []
        for count in stride(from: 0, through: data.count + step - 1, by: step) {
            guard let preview = try previewer.preview(data.prefix(count)) else { continue }
            #expect(preview.width == 40 && preview.height == 30)
            differences.append(S.meanDifference(preview, whole))
            #expect(try previewer.preview(data.prefix(count)) == nil)
        }
        #expect(differences.count == S.scans(data).count)
        #expect(differences.last == 0 && differences.first.map { $0 > 1 && $0 < 40 } == true, "\(differences)")
        #expect(differences.first == differences.max())
        #expect(try previewer.preview(data) == nil)
    }

    /// At the size of the file as well, where smoothing looks ahead of what is drawn.
    @Test func theFirstScanIsShownAtFullSize() throws {
        let data = try S.file("scans.jpg")
        let previewer = try #require(try previewer(data))
        let second = S.scans(data)[1]
        let first = try #require(try previewer.preview(data.prefix(second + 10)))
        #expect(first.width == 160 && first.height == 120)
        #expect(S.meanDifference(first, try S.decode(data)) < 30)
        let last = try #require(try previewer.preview(data))
        #expect(S.meanDifference(last, try S.decode(data)) == 0)
    }

    /// Of a scan that is half there nothing is shown (Nuke 115: previews that jump).
    @Test func aPreviewIsOfWholeScans() throws {
        let data = try S.file("scans.jpg")
        let scans = S.scans(data)
        for index in [1, 2, 4] {
            let count = scans[index] + (scans[index + 1] - scans[index]) / 2
            let (one, other) = (try #require(try previewer(data)), try #require(try previewer(data)))
            let preview = try #require(try one.preview(data.prefix(count)))
            let complete = try #require(try other.preview(data.prefix(scans[index] + 2)))
            #expect(S.meanDifference(preview, complete) == 0)
        }
    }

    /// Nuke 835: a baseline thumbnail in the EXIF of a progressive file made it a baseline one, and its markers were counted as scans. It is stepped over.
    @Test func anEmbeddedThumbnailIsNotThePicture() throws {
        let (plain, thumbnail) = (try S.file("scans.jpg"), try S.file("baseline.jpg"))
        let exif = Array("Exif".utf8) + [0, 0] + ImageSamples.exif(1, isBig: true) + [UInt8](thumbnail)
        let data = Data(plain.prefix(2)) + Data([0xFF, 0xE1] + ImageSamples.be16(exif.count + 2) + exif) + plain.dropFirst(2)
        let header = try S.header(data)
        #expect(header.isProgressive && header.width == 160 && header.height == 120)
        let previewer = try #require(try previewer(data))
        let ends = S.scans(plain).map { $0 + data.count - plain.count }
        var count = 0
        for end in ends.dropFirst() + [data.count] {
            if try previewer.preview(data.prefix(end + 10)) != nil { count += 1 }
        }
        #expect(count == ends.count)
        let image = try #require(try self.previewer(data)?.picture(data))
        #expect(S.meanDifference(image, try S.decode(plain)) == 0)
    }

    /// The picture is the decoder's, with or without previews before.
    @Test(arguments: [0, 2_000, 5_000, 100_000]) func theLastOneIsThePicture(_ previewed: Int) throws {
        let data = try S.file("scans.jpg")
        for size in [nil, PixelSize(width: 40, height: 30)] {
            let previewer = try #require(try previewer(data, size: size))
            _ = try previewer.preview(data.prefix(previewed))
            let image = try #require(try previewer.picture(data))
            #expect(S.meanDifference(image, try S.decode(data, size: size)) == 0)
            #expect(try previewer.picture(data) == nil && previewer.preview(data) == nil)
        }
    }

    @Test func aFileThatIsCutShortIsNoPicture() throws {
        let data = try S.file("scans.jpg")
        for count in (0..<data.count).filter({ $0 % 7 == 0 || $0 > data.count - 5 }) {
            let previewer = try #require(try previewer(data))
            let error = #expect(throws: ImageError.self) { try previewer.picture(data.prefix(count)) }
            guard case .damaged(.jpeg, _) = error else {
                Issue.record("\(count): \(String(describing: error))")
                continue
            }
        }
    }

    /// In contrast to a preview a picture is damaged where the decoder says so.
    @Test func picturesAreTheDecodersOrNone() throws {
        var random = SplitMix(state: 8)
        let whole = try S.file("progressive.jpg")
        var (pictures, errors) = (0, 0)
        for _ in 0..<500 {
            var data = whole
            for _ in 0..<1 + Int(random.next() % 2) {
                data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let header = try? S.header(data), header.width * header.height < 100_000,
                let previewer = try? JPEGPreviewer(header: header, options: ImageDecodingOptions())
            else { continue }
            _ = try? previewer.preview(data.prefix(Int(random.next() % UInt64(data.count))))
            let (image, wanted) = (try? previewer.picture(data), try? S.decode(data))
            if let image, let wanted {
                #expect(S.meanDifference(image, wanted) == 0)
                pictures += 1
            } else {
                #expect(image == nil && wanted == nil, "\(image == nil), \(wanted == nil)")
                errors += 1
            }
        }
        #expect(pictures > 30 && errors > 30)
    }

    @Test func othersHaveNoPreviews() throws {
        #expect(try previewer(try S.file("baseline.jpg")) == nil)
        #expect(try previewer(try S.file("lossy.webp")) == nil)
        var limits = ImageLimits.standard
        limits.pixels = 100
        #expect(throws: ImageError.exceeds(.pixels, actual: 19_200, most: 100)) { try previewer(try S.file("scans.jpg"), limits: limits) }
    }

    @Test func aPreviewIsCancelled() throws {
        let data = try S.file("scans.jpg")
        let previewer = try #require(try previewer(data))
        #expect(try previewer.preview(data.prefix(3_000)) != nil)
        previewer.cancel()
        #expect(throws: CancellationError.self) { try previewer.preview(data) }
        #expect(try previewer.preview(data) == nil)
    }

    @Test func scansAreLimited() throws {
        let bomb = try S.jpeg(try S.file("scans.jpg"), repeatingFirstScan: 600)
        let previewer = try #require(try previewer(bomb))
        #expect(throws: ImageError.exceeds(.scans, actual: 501, most: 500)) { try previewer.preview(bomb) }
    }

    /// Whatever comes, in whatever pieces, and where later bytes are not those of before.
    @Test func mutatedFilesDoNoHarm() throws {
        var random = SplitMix(state: 5)
        let whole = try S.file("scans.jpg")
        var seconds = 0.0
        for _ in 0..<500 {
            var data = whole
            for _ in 0..<1 + Int(random.next() % 6) {
                data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            guard let header = try? S.header(data), header.width * header.height < 100_000,
                let previewer = try? JPEGPreviewer(header: header, options: ImageDecodingOptions(size: PixelSize(width: 40, height: 30)))
            else { continue }
            seconds += S.cpuTime {
                for _ in 0..<6 {
                    let source = random.next() % 5 == 0 ? whole : data
                    _ = try? previewer.preview(source.prefix(Int(random.next() % UInt64(data.count + 1))))
                }
            }
        }
        #expect(seconds < 60)
    }
}
#endif
