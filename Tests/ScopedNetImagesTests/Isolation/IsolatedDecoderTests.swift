#if Images
import CleanSlate
import Dispatch
import FoundationEssentials
import Glibc
import Synchronization
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// Pictures, errors and limits are those of the decoders in process.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct IsolatedDecoderTests {
        typealias I = IsolationSamples
        typealias S = CodecSamples

        @Test func picturesAreThoseOfTheDecodersInProcess() throws {
            let decoder = I.decoder()
            #expect(I.files.count > 60)
            for name in I.files {
                let data = try S.file(name)
                for size in [nil, PixelSize(width: 4, height: 4), PixelSize(width: 10, height: 7), PixelSize(width: 1_000, height: 1)] {
                    let isolated = try I.result { try I.decode(data, by: decoder, size: size) }
                    #expect(try isolated == I.result { try S.decode(data, size: size) }, "\(name)")
                    #expect(isolated.size != nil)
                }
            }
            #expect(decoder.pool.idleProcesses.count == 1)
        }

        @Test(arguments: ["baseline.jpg", "progressive.jpg", "scans.jpg", "png-6-16.png", "lossy.webp", "lossless.webp", "animated.webp"])
        func limitsAreThoseOfTheDecodersInProcess(_ name: String) throws {
            let decoder = I.decoder()
            let data = try S.file(name)
            var all = Array(repeating: ImageLimits.standard, count: 6)
            (all[0].pixels, all[1].decodedBytes, all[2].scans, all[3].frames) = (10, 100, 1, 1)
            (all[4].decodedBytes, all[5].decodedBytes) = (19 * 13 * 4 - 1, 19 * 13 * 4)
            for limits in all {
                for size in [nil, PixelSize(width: 2, height: 2)] {
                    #expect(
                        try I.result { try I.decode(data, by: decoder, size: size, limits: limits) }
                            == I.result { try S.decode(data, size: size, limits: limits) }, "\(name), \(limits)")
                }
            }
        }

        @Test func otherFormatsAreRefused() throws {
            let header = ImageHeader(format: .gif, width: 1, height: 1)
            #expect(throws: ImageError.unsupported(.gif)) {
                try I.decoder().decode(Data([1]), header: header, options: ImageDecodingOptions())
            }
            #expect(throws: ImageError.self) {
                try I.decoder().decode(Data(), header: ImageHeader(format: .png, width: 1, height: 1), options: ImageDecodingOptions())
            }
        }

        /// A header that is not that of the file.
        @Test func aWrongHeaderIsDamage() throws {
            let decoder = I.decoder()
            for name in ["baseline.jpg", "png-6-8.png", "lossy.webp", "animated.webp"] {
                var header = try S.header(try S.file(name))
                header.width += 1
                #expect(throws: ImageError.self) { try decoder.decode(try S.file(name), header: header, options: ImageDecodingOptions()) }
            }
            #expect(decoder.pool.idleProcesses.count == 1)
        }

        // MARK: Lists of decoders

        @Test func theListHasTheIsolatedDecoderForEachCodec() throws {
            let all = [any ImageDecoding].isolated(I.decoder())
            for format: ImageFormat in [.jpeg, .png, .webP] {
                #expect(all.filter { $0.formats.contains(format) }.allSatisfy { $0 is IsolatedDecoder })
            }
            #expect(Set(all.flatMap(\.formats)) == [.jpeg, .png, .webP, .gif, .bmp, .ico, .xbm, .tiff])
            let few = [any ImageDecoding].isolated(I.decoder(), includesSwiftDecoders: false)
            #expect(Set(few.flatMap(\.formats)) == [.jpeg, .png, .webP])
        }

        // MARK: Helpers

        @Test func aMissingHelperIsATypedError() throws {
            var configuration = I.configuration()
            configuration.helperPath = "/nonexistent/scopednet-decoder"
            let decoder = IsolatedDecoder(configuration)
            let expected = ImageIsolationError.helperMissing(looked: ["/nonexistent/scopednet-decoder"])
            #expect(throws: expected) { try decoder.prepare() }
            #expect(throws: expected) { try I.decode(try S.file("baseline.jpg"), by: decoder) }
            #expect(expected.description.contains("/nonexistent/"))
        }

        @Test func helpersAreReused() throws {
            let decoder = I.decoder()
            try decoder.prepare()
            let first = decoder.pool.idleProcesses
            for _ in 0..<5 { _ = try I.decode(try S.file("baseline.jpg"), by: decoder) }
            #expect(decoder.pool.idleProcesses == first && first.count == 1)
            decoder.endIdleHelpers()
            #expect(decoder.pool.idleProcesses.isEmpty)
            _ = try I.decode(try S.file("baseline.jpg"), by: decoder)
            #expect(decoder.pool.idleProcesses != first)
        }

        @Test func helpersAreReplacedAfterSomePictures() throws {
            var configuration = I.configuration()
            configuration.picturesPerHelper = 2
            let decoder = IsolatedDecoder(configuration)
            var seen: [[Int32]] = []
            for _ in 0..<4 {
                _ = try I.decode(try S.file("baseline.jpg"), by: decoder)
                seen.append(decoder.pool.idleProcesses)
            }
            #expect(seen[0].count == 1 && seen[1].isEmpty && seen[2].count == 1 && seen[3].isEmpty && seen[0] != seen[2])
        }

        /// Killed while it waits: another one takes its place, and no picture is lost.
        @Test func anIdleHelperThatWasKilledCostsNoPicture() throws {
            let decoder = I.decoder()
            try decoder.prepare()
            let pid = try #require(decoder.pool.idleProcesses.first)
            kill(pid, SIGKILL)
            while !Self.isZombie(pid) { usleep(1_000) }
            #expect(try I.decode(try S.file("baseline.jpg"), by: decoder).width > 0)
            #expect(kill(pid, 0) != 0 && errno == ESRCH)
        }

        private static func isZombie(_ pid: pid_t) -> Bool { I.text("/proc/\(pid)/stat").contains(") Z ") }

        /// No process, no descriptor and no memory is left, whatever happened.
        @Test func nothingIsLeftBehind() throws {
            #expect(I.helpers().isEmpty)
            let (before, sockets) = (I.descriptors(), I.helperSockets())
            do {
                let decoder = I.decoder()
                for name in I.files { _ = try? I.decode(try S.file(name), by: decoder, size: PixelSize(width: 3, height: 3)) }
                for name in I.files { _ = try? I.decode(try S.file(name).dropLast(20), by: decoder) }
                #expect(I.helpers().count == 1 && I.helperSockets() == sockets + 1)
                // Those of the helper's memory for files, and for pixels.
                #expect(I.descriptors()["memfd"] ?? 0 <= (before["memfd"] ?? 0) + 2)
            }
            #expect(I.helpers().isEmpty)
            #expect(I.descriptors()["memfd"] ?? 0 == before["memfd"] ?? 0)
            #expect(I.helperSockets() == sockets)
        }

        /// The descriptors of the program, and its environment, are not the helper's.
        @Test func aHelperHasNoMoreThanItsSocket() throws {
            let leak = open("/etc/passwd", O_RDONLY)
            defer { close(leak) }
            let decoder = I.decoder()
            try decoder.prepare()
            let pid = try #require(decoder.pool.idleProcesses.first)
            // As root only: the helper is not dumpable.
            guard geteuid() == 0 else { return }
            let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")
            #expect(Set(descriptors) == ["0", "1", "2", "3"])
            let status = I.text("/proc/\(pid)/status")
            #expect(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"))
            #expect(getpgid(pid) == pid)
        }

        // MARK: Threads and cancellation

        @Test func manyThreadsDecodeAtOnce() throws {
            var configuration = I.configuration()
            (configuration.helpers, configuration.warmHelpers) = (3, 3)
            let decoder = IsolatedDecoder(configuration)
            let names = I.files
            let expected = try names.map { name in try I.result { try S.decode(try S.file(name)) } }
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { thread in
                for round in 0..<40 {
                    let index = (thread * 17 + round) % names.count
                    do {
                        let result = try I.result { try I.decode(try S.file(names[index]), by: decoder) }
                        if result != expected[index] { failures.withLock { $0.append(names[index]) } }
                    } catch { failures.withLock { $0.append("\(names[index]): \(error)") } }
                }
            }
            #expect(failures.withLock { $0 }.isEmpty)
            #expect((1...3).contains(decoder.pool.idleProcesses.count))
        }

        @Test func aCancelledDecodingThrows() async throws {
            let decoder = I.decoder()
            let cancellation = DecodingCancellation()
            cancellation.cancel()
            #expect(throws: CancellationError.self) {
                try I.decode(try S.file("baseline.jpg"), by: decoder, cancellation: cancellation)
            }
            #expect(decoder.pool.idleProcesses.isEmpty)
        }
    }
}
#endif
