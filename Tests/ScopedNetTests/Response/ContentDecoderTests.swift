import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ContentDecoderTests {
    /// Feeds the pieces one after the other, and ends the body.
    private func decode(
        _ pieces: [ArraySlice<UInt8>], _ encoding: String, limits: DecodingLimits = .default
    ) throws -> [UInt8] {
        let decoder = try #require(ContentDecoder.make(for: encoding, limits: limits))
        var output: [UInt8] = []
        for piece in pieces {
            try piece.withUnsafeBytes { try decoder.decode($0, appendingTo: &output) }
        }
        try decoder.finish()
        #expect(decoder.receivedBytes == pieces.reduce(0) { $0 + $1.count })
        #expect(decoder.decodedBytes == output.count)
        return output
    }

    private func error(_ coded: [UInt8], _ encoding: String, limits: DecodingLimits = .default) -> ContentDecodingError? {
        do {
            _ = try ContentDecoder.decode(coded, contentEncoding: encoding, limits: limits)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: CodedBodies.samples)
    func everySplitOfTheInputGivesTheSameBody(_ sample: CodedBodies.Sample) throws {
        for split in 0...sample.coded.count {
            let output = try decode([sample.coded[..<split], sample.coded[split...]], sample.encoding)
            try #require(output == sample.decoded, "split at \(split)")
        }
    }

    @Test func wholeBodiesAreDecodedAndUnknownCodingsLeftAsTheyAre() throws {
        let coded = Data(CodedBodies.gzip(CodedBodies.text))
        let decoded = try ContentCoding.decoded(coded, coding: "gzip", limits: .default)
        let unknown = try ContentCoding.decoded(coded, coding: "unknown", limits: .default)
        #expect(decoded == Data(CodedBodies.text) && unknown == coded)
        #expect(throws: ContentDecodingError.self) { try ContentCoding.decoded(coded.dropLast(9), coding: "gzip", limits: .default) }
    }

    @Test func ofABrokenErrorDocumentItsBeginningIsLeft() {
        let coded = Data(CodedBodies.gzip(CodedBodies.text))
        let cut = ContentCoding.decodedPrefix(coded.dropLast(9), coding: "gzip", limits: .default)
        #expect(!cut.isEmpty && Data(CodedBodies.text).starts(with: cut))
        let unknown = ContentCoding.decodedPrefix(coded, coding: "unknown", limits: .default)
        #expect(unknown == coded)
    }

    @Test(arguments: CodedBodies.samples)
    func singleBytesGiveTheSameBody(_ sample: CodedBodies.Sample) throws {
        let output = try decode(sample.coded.indices.map { sample.coded[$0...$0] }, sample.encoding)
        #expect(output == sample.decoded)
    }

    @Test(arguments: CodedBodies.samples)
    func oneShotGivesTheSameBody(_ sample: CodedBodies.Sample) throws {
        #expect(try ContentDecoder.decode(sample.coded, contentEncoding: sample.encoding) == sample.decoded)
    }

    /// Cut behind a complete member or frame, a body is complete and shorter: nothing in the format says that more should come.
    @Test(arguments: CodedBodies.samples)
    func truncationAtEveryByteIsNoticed(_ sample: CodedBodies.Sample) {
        var complete = 0
        for count in 1..<sample.coded.count {
            switch error(Array(sample.coded[..<count]), sample.encoding) {
            case .truncated: break
            case nil: complete += 1
            case let other: Issue.record("\(count): \(String(describing: other))")
            }
        }
        let boundaries = [
            "gzip, two members": 1, "gzip, empty members": 2, "zstd, two frames and a skippable one": 2,
        ]
        #expect(complete == boundaries[sample.name] ?? 0)
    }

    @Test(arguments: CodedBodies.samples)
    func damagedBytesNeitherTrapNorHang(_ sample: CodedBodies.Sample) {
        for index in sample.coded.indices {
            for bit in [0, 3, 7] {
                var damaged = sample.coded
                damaged[index] ^= 1 << bit
                _ = error(damaged, sample.encoding)
            }
        }
    }

    /// A few bits behind the last block only fill its byte; those may be anything.
    @Test func everyFlippedBitBehindTheGzipHeaderIsNoticedOrMeansNothing() {
        let coded = CodedBodies.gzip(CodedBodies.text)
        for index in 10..<coded.count {
            for bit in 0..<8 {
                var damaged = coded
                damaged[index] ^= 1 << bit
                let output = try? ContentDecoder.decode(damaged, contentEncoding: "gzip")
                if let output, output != CodedBodies.text { Issue.record("byte \(index), bit \(bit)") }
            }
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"])
    func noiseIsCorruptOrTruncated(_ coding: String) {
        guard ContentDecoder.supportedCodings.contains(coding) else { return }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let noise = (0..<Int.random(in: 1...200, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }
            switch error(noise, coding) {
            case .corrupt(let named, let detail):
                #expect(named == coding)
                #expect(!detail.isEmpty)
            case .truncated, nil: break
            case let other: Issue.record("\(String(describing: other))")
            }
        }
    }

    @Test func anEmptyBodyIsFine() throws {
        for coding in ContentDecoder.supportedCodings + ["gzip, deflate"] {
            #expect(try decode([], coding) == [])
            #expect(try decode([[]], coding) == [])
        }
    }

    @Test(arguments: [[0], [0, 0, 0], Array("\r\n".utf8), Array("garbage".utf8)] as [[UInt8]])
    func whatFollowsACompleteStreamIsIgnored(_ garbage: [UInt8]) throws {
        for (coding, coded) in [
            ("gzip", CodedBodies.gzip(CodedBodies.text)), ("deflate", CodedBodies.deflate(CodedBodies.text)),
            ("deflate", CodedBodies.rawDeflate(CodedBodies.text)), ("br", CodedBodies.brotliText),
        ] where ContentDecoder.supportedCodings.contains(coding) {
            #expect(try decode([coded[...], garbage[...]], coding) == CodedBodies.text)
            #expect(try decode([(coded + garbage)[...]], coding) == CodedBodies.text)
        }
    }

    @Test(arguments: ["", "identity", "compress", "gzip, unknown", "unknown, gzip", "gzip;q=1"])
    func otherCodingsAreLeftAlone(_ encoding: String) throws {
        #expect(ContentDecoder.make(for: encoding) == nil)
        #expect(try ContentDecoder.decode([1, 2, 3], contentEncoding: encoding) == nil)
    }

    /// A body whose coding cannot be undone is not given out as if it were the one asked for.
    @Test(arguments: [6, 100]) func moreCodingsThanAnyServerAppliesAreAnError(_ count: Int) throws {
        let encoding = repeatElement("gzip", count: count).joined(separator: ", ")
        #expect(throws: ContentDecodingError.tooManyCodings(count)) { try ContentDecoder.decode([1, 2, 3], contentEncoding: encoding) }
        #expect(try ContentDecoder.decode([], contentEncoding: encoding) == [])
    }

    @Test func theOfferListsWhatIsBuiltIn() {
        var codings = ["gzip", "deflate"]
        #if Brotli
        codings.append("br")
        #endif
        #if Zstd
        codings.append("zstd")
        #endif
        #expect(ContentDecoder.supportedCodings == codings)
        #expect(ContentDecoder.acceptEncodingValue == codings.joined(separator: ", "))
    }

    // MARK: Limits

    @Test func outputIsLimited() throws {
        let coded = CodedBodies.gzip(CodedBodies.text)
        let exact = DecodingLimits(maxOutputBytes: CodedBodies.text.count)
        #expect(try decode([coded[...]], "gzip", limits: exact) == CodedBodies.text)
        let tight = DecodingLimits(maxOutputBytes: CodedBodies.text.count - 1)
        #expect(error(coded, "gzip", limits: tight) == .bomb(.outputBytes(CodedBodies.text.count - 1)))
    }

    @Test func aSmallBodyMayExpandAsFarAsDeflateCan() throws {
        let zeros = [UInt8](repeating: 0, count: 8 << 20)
        let coded = CodedBodies.gzip(zeros)
        #expect(zeros.count / coded.count > 1_000)
        #expect(try decode([coded[...]], "gzip") == zeros)
    }

    @Test func bombsAreStoppedByTheirRatio() throws {
        let zeros = [UInt8](repeating: 0, count: 24 << 20)
        var bombs = [
            ("gzip", CodedBodies.gzip(zeros)), ("deflate", CodedBodies.deflate(zeros)),
            ("gzip, gzip", CodedBodies.gzip(CodedBodies.gzip(zeros))),
        ]
        #if Brotli
        bombs.append(("br", CodedBodies.brotliZeros))
        #endif
        #if Zstd
        bombs.append(("zstd", CodedBodies.zstd(zeros)))
        #endif
        for (encoding, bomb) in bombs {
            let decoder = try #require(ContentDecoder.make(for: encoding))
            var largest = 0
            var total = 0
            #expect(throws: ContentDecodingError.bomb(.ratio(500)), "\(encoding)") {
                try bomb.withUnsafeBytes { bytes in
                    try decoder.decode(bytes) { (piece: UnsafeRawBufferPointer) throws(ContentDecodingError) in
                        largest = max(largest, piece.count)
                        total += piece.count
                    }
                }
            }
            #expect(largest <= 32 << 10)
            #expect(total <= 16 << 20)
        }
    }

    /// Empty members decode to nothing: only the link before them can see the growth.
    @Test func aBombInsideAChainIsStopped() {
        let emptyMember = CodedBodies.gzip([])
        let inner = [[UInt8]](repeating: emptyMember, count: 100_000).flatMap(\.self)
        let coded = CodedBodies.gzip(inner)
        let limits = DecodingLimits(maxRatio: 100, ratioAppliesAfterBytes: 1 << 20)
        #expect(error(coded, "gzip, gzip", limits: limits) == .bomb(.ratio(100)))
        #expect(error(coded, "gzip, gzip", limits: .unlimited) == nil)
    }

    @Test func theReceiverCanStop() throws {
        let coded = CodedBodies.gzip([UInt8](repeating: 7, count: 1 << 20))
        let decoder = try #require(ContentDecoder.make(for: "gzip"))
        var calls = 0
        let feed = {
            try coded.withUnsafeBytes { bytes in
                try decoder.decode(bytes) { (_: UnsafeRawBufferPointer) throws(ContentDecodingError) in
                    calls += 1
                    throw .stopped
                }
            }
        }
        #expect(throws: ContentDecodingError.stopped, performing: feed)
        #expect(throws: ContentDecodingError.stopped, performing: feed)
        #expect(throws: ContentDecodingError.stopped) { try decoder.finish() }
        #expect(calls == 1)
    }

    @Test func anErrorStays() throws {
        let decoder = try #require(ContentDecoder.make(for: "gzip"))
        var output: [UInt8] = []
        for _ in 0..<2 {
            #expect(throws: ContentDecodingError.self) {
                try Array("no gzip at all".utf8).withUnsafeBytes { try decoder.decode($0, appendingTo: &output) }
            }
        }
        #expect(output.isEmpty)
    }

    #if Zstd
    /// The library reads frames of its versions before 1.0 too, where it was built so; what came out depended on how they were cut.
    @Test func framesOfOldVersionsAreRefusedHoweverTheyAreCut() throws {
        let legacy: [UInt8] = [0x25, 0xb5, 0x2f, 0xfd, 0x00, 0xca, 0x22, 0x3a]
        for cut in 0...legacy.count {
            let decoder = try #require(ContentDecoder.make(for: "zstd"))
            var output: [UInt8] = []
            #expect(throws: ContentDecodingError.corrupt(coding: "zstd", detail: "no frame of RFC 8878")) {
                try legacy[..<cut].withUnsafeBytes { try decoder.decode($0, appendingTo: &output) }
                try legacy[cut...].withUnsafeBytes { try decoder.decode($0, appendingTo: &output) }
            }
        }
    }

    @Test func aFrameThatEndsInItsFirstBytesIsTruncated() throws {
        #expect(error([0x28, 0xb5], "zstd") == .truncated(coding: "zstd"))
    }

    /// A window of 128 MiB in the frame header: to be refused before anything of that size is allocated.
    @Test func aFrameMayNotAskForALargeWindow() {
        let header: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 17 << 3, 0x01, 0x00, 0x00]
        guard case .corrupt("zstd", _) = error(header, "zstd") else {
            Issue.record("accepted")
            return
        }
    }
    #endif

    @Test func aZlibStreamThatNeedsADictionaryIsCorrupt() {
        #expect(error([0x78, 0xbb, 1, 2, 3, 4, 0], "deflate") == .corrupt(coding: "deflate", detail: "it needs a preset dictionary"))
    }
}
