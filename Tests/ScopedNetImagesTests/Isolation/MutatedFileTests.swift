#if Images
import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// Files with changed bytes: 500 of each format, and 10,000 with SCOPEDNET_SOAK=1.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(10))) struct MutatedFileTests {
        typealias I = IsolationSamples
        typealias S = CodecSamples

        private static let rounds = getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1" ? 10_000 : 500

        private func mutated(_ whole: Data, _ random: inout SplitMix, isPNG: Bool) -> Data {
            var data = whole
            for _ in 0..<1 + Int(random.next() % 6) {
                data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            // With right checksums the changes reach the decoder.
            if isPNG, random.next() % 4 != 0 { data = S.withChecksums(data) }
            if random.next() % 8 == 0 { data = Data(data.prefix(Int(random.next() % UInt64(data.count)))) }
            return data
        }

        /// Of an animation the container is read first here, and the decoder in process asks libwebp first: the words differ.
        private static func withoutReason(_ result: I.Result) -> I.Result {
            guard case .damaged(.webP, _)? = result.error else { return result }
            return I.Result(error: .damaged(.webP, ""))
        }

        /// The result is that of the decoder in process: the same picture, or the same error.
        @Test(arguments: [".jpg", ".png", ".webp"]) func mutatedFilesDoTheHostNoHarm(_ suffix: String) throws {
            let decoder = I.decoder()
            let files = try I.files.filter { $0.hasSuffix(suffix) }.map { try S.file($0) }
            var random = SplitMix(state: UInt64(suffix.utf8.count) &* 77 &+ 5)
            var limits = ImageLimits.standard
            limits.pixels = 1_000_000
            var pictures = 0
            for round in 0..<Self.rounds {
                let data = mutated(files[round % files.count], &random, isPNG: suffix == ".png")
                let size = random.next() % 2 == 0 ? nil : PixelSize(width: Int(random.next() % 40), height: Int(random.next() % 40))
                let isolated = try I.result { try I.decode(data, by: decoder, size: size, limits: limits) }
                let expected = try I.result { try S.decode(data, size: size, limits: limits) }
                #expect(Self.withoutReason(isolated) == Self.withoutReason(expected), "round \(round)")
                if isolated.size != nil { pictures += 1 }
            }
            print("\(suffix): \(Self.rounds) mutated files, \(pictures) of them pictures")
            #expect(pictures > 0 && pictures < Self.rounds)
            #expect(I.helpers().count == 1)
        }

        /// Those that are decoded in process, in Swift.
        @Test(arguments: [".gif", ".bmp", ".ico", ".xbm", ".tif"]) func mutatedFilesOfTheOtherFormatsDoNoHarm(_ suffix: String) throws {
            let decoders = [any ImageDecoding].isolated(I.decoder())
            let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(suffix) }.sorted()
            let files = try names.map { try DecoderTests.fixture($0) }
            var random = SplitMix(state: UInt64(suffix.utf8.reduce(0) { Int($0) * 31 + Int($1) }))
            var limits = ImageLimits.standard
            limits.pixels = 1_000_000
            for round in 0..<Self.rounds {
                let data = mutated(files[round % files.count], &random, isPNG: false)
                guard case .header(let header)? = try? ImageHeader.read(data, isComplete: true, limits: limits) else { continue }
                guard let decoder = decoders.first(where: { $0.formats.contains(header.format) }) else { continue }
                _ = try I.result {
                    try decoder.decode(data, header: header, options: ImageDecodingOptions(size: nil, limits: limits))
                }
            }
        }
    }
}
#endif
