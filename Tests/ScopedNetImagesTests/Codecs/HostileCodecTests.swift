#if Images
import CleanSlate
import FoundationEssentials
import SystemSupport
import Testing

@testable import ScopedNetImages

/// Files that are cut, changed or endless, and decodings that are stopped.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(5))) struct HostileCodecTests {
    typealias S = CodecSamples

    private static let files =
        S.jpegs.map { "\($0).jpg" } + ["rotated.jpg"]
        + ["png-0-1", "png-0-16-i-t", "png-2-8", "png-2-16-t", "png-3-4-t", "png-3-8-i-t", "png-4-8-i", "png-6-16"].map { "\($0).png" }
        + ["lossy", "lossy-alpha", "lossless", "lossless-alpha", "animated"].map { "\($0).webp" }

    /// At each length: an error, and no picture.
    @Test(arguments: files) func aFileThatIsCutShortIsDamaged(_ name: String) throws {
        let whole = try S.file(name)
        for size in [nil, PixelSize(width: 4, height: 4)] {
            #expect(try S.decode(whole, size: size).width > 0)
            for count in 0..<whole.count {
                do {
                    _ = try S.decode(whole.prefix(count), size: size)
                    Issue.record("\(name) is whole with \(count) of \(whole.count) bytes")
                } catch ImageError.damaged, ImageError.unknownFormat {
                } catch {
                    Issue.record("\(name), \(count) bytes: \(error)")
                }
            }
        }
    }

    @Test func anAnimationThatIsCutShortIsDamaged() throws {
        let whole = try S.file("animated.webp")
        for count in 0..<whole.count { #expect(throws: ImageError.self) { try AnimatedImage(whole.prefix(count)).frame(at: 4) } }
    }

    /// Whatever is changed: a picture of the size that the header says, or an error, and soon.
    @Test(arguments: files) func mutatedFilesDoNoHarm(_ name: String) throws {
        var random = SplitMix(state: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ Int($1) } & 0xFFFF))
        let whole = try S.file(name)
        var limits = ImageLimits.standard
        limits.pixels = 1_000_000
        var longest = 0.0
        for round in 0..<500 {
            var data = whole
            for _ in 0..<1 + Int(random.next() % 6) {
                data[Int(random.next() % UInt64(data.count))] = UInt8(truncatingIfNeeded: random.next())
            }
            // With right checksums the changes reach the decoder.
            if name.hasSuffix("png"), round % 4 != 0 { data = S.withChecksums(data) }
            if random.next() % 8 == 0 { data = Data(data.prefix(Int(random.next() % UInt64(data.count)))) }
            let size = random.next() % 2 == 0 ? nil : PixelSize(width: Int(random.next() % 40), height: Int(random.next() % 40))
            longest = max(longest, S.cpuTime { use(data, size, limits) })
        }
        #expect(longest < 2, "\(name): \(longest) s")
    }

    private func use(_ data: Data, _ size: PixelSize?, _ limits: ImageLimits) {
        do {
            let image = try S.decode(data, size: size, limits: limits)
            #expect(image.width * image.height <= limits.pixels)
            if let animation = try? AnimatedImage(data, limits: limits) {
                for index in [animation.frameCount - 1, 0] { _ = try? animation.frame(at: index) }
            }
        } catch let error as ImageError {
            #expect(!error.description.isEmpty)
        } catch {
            Issue.record("\(error)")
        }
    }

    // MARK: Cancellation

    @Test(arguments: files.filter { $0 != "animated.webp" }) func aDecodingIsStopped(_ name: String) throws {
        let data = try S.file(name)
        let cancellation = DecodingCancellation()
        #expect(try S.decode(data, cancellation: cancellation).width > 0 && !cancellation.isCancelled)
        cancellation.cancel()
        #expect(cancellation.isCancelled)
        for size in [nil, PixelSize(width: 4, height: 4)] {
            #expect(throws: CancellationError.self) { try S.decode(data, size: size, cancellation: cancellation) }
        }
    }

    /// By another thread, in the midst of hundreds of scans.
    @Test func aDecodingIsStoppedFromOutside() async throws {
        let data = try S.jpeg(try S.file("scans.jpg"), repeatingFirstScan: 450)
        let cancellation = DecodingCancellation()
        let rounds = Lock(0)
        let task = Task.detached { () throws -> Int in
            while true {
                _ = try S.decode(data, cancellation: cancellation)
                rounds.withLock { $0 += 1 }
            }
        }
        // Then the second round is under way.
        while rounds.withLock({ $0 }) == 0 { await Task.yield() }
        cancellation.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func aTaskStopsItsDecoding() async throws {
        let data = try S.file("scans.jpg")
        let header = try S.header(data)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await JPEGDecoder().decodeConcurrently(data, header: header, options: ImageDecodingOptions())
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let image = try await JPEGDecoder().decodeConcurrently(data, header: header, options: ImageDecodingOptions())
        #expect(image.width == 160)
    }
}
#endif
