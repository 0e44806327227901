#if Images
import CleanSlate
import FoundationEssentials
import Glibc
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// The memory in which a helper is given one file after the other.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct HelperInputTests {
        typealias I = IsolationSamples
        typealias S = CodecSamples

        /// The same picture, in a file of `byteCount` bytes: what follows the end of a JPEG is not looked at.
        private func padded(_ name: String, to byteCount: Int) throws -> Data {
            let data = try S.file(name)
            return data + Data(repeating: 0xA5, count: byteCount - data.count)
        }

        private func expectSame(_ data: Data, by decoder: IsolatedDecoder, _ place: SourceLocation = #_sourceLocation) throws {
            #expect(try I.result { try I.decode(data, by: decoder) } == I.result { try S.decode(data) }, sourceLocation: place)
        }

        @Test func theMemoryIsTheSameForEachFile() throws {
            let before = I.memoryFiles()
            let decoder = I.decoder()
            try decoder.prepare()
            let kept = I.memoryFiles().subtracting(before)
            // Those for files, and for the pixels of small pictures.
            #expect(kept.count == 2)
            for name in ["baseline.jpg", "png-6-8.png", "lossy.webp"] {
                try expectSame(try S.file(name), by: decoder)
                #expect(I.memoryFiles().subtracting(before) == kept)
            }
            decoder.endIdleHelpers()
            #expect(I.memoryFiles() == before)
        }

        @Test func aFileThatIsLargerHasMemoryOfItsOwn() throws {
            for (byteCount, kept) in [(HelperInput.byteCount, 2), (HelperInput.byteCount + 1, 1)] {
                let before = I.memoryFiles()
                let decoder = I.decoder()
                for _ in 0..<2 { try expectSame(try padded("baseline.jpg", to: byteCount), by: decoder) }
                #expect(I.memoryFiles().subtracting(before).count == kept)
            }
        }

        /// In turns, with one helper: each file is as long as it says, and no longer.
        @Test func sizesTakeTurns() throws {
            let decoder = I.decoder()
            let sizes = [HelperInput.byteCount, 20_000, HelperInput.byteCount + 1, 30_000, HelperInput.byteCount - 1]
            for size in sizes {
                try expectSame(try padded("baseline.jpg", to: size), by: decoder)
                try expectSame(try S.file("png-6-8.png"), by: decoder)
            }
            #expect(decoder.pool.idleProcesses.count == 1)
        }

        /// Cut at each length, after the whole: with the bytes that were there before it would be whole again.
        @Test(arguments: ["baseline.jpg", "png-6-8.png", "lossy.webp"]) func aFileThatIsCutHasNoneOfTheOneBefore(_ name: String) throws {
            let decoder = I.decoder()
            let whole = try S.file(name)
            for count in stride(from: whole.count - 1, to: whole.count / 2, by: -max(1, whole.count / 60)) {
                try expectSame(whole, by: decoder)
                try expectSame(Data(whole.prefix(count)), by: decoder)
            }
            #expect(decoder.pool.idleProcesses.count == 1)
        }

        /// A codec that reads too far finds zeros.
        @Test func zerosFollowTheFile() throws {
            let input = try HelperInput()
            for count in [HelperInput.byteCount, 100_001, 7, 50_000, 0, HelperInput.byteCount] {
                let data = Data((0..<count).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) })
                try input.write(data)
                let isRight = try input.memory.withBytes { bytes in
                    Data(bytes.prefix(count)) == data && bytes.dropFirst(count).allSatisfy { $0 == 0 }
                }
                #expect(isRight, "\(count) bytes")
            }
        }

        @Test func theMemoryKeepsItsSize() throws {
            let input = try HelperInput()
            #expect(ftruncate(input.memory.descriptor, 0) != 0 && errno == EPERM)
            #expect(ftruncate(input.memory.descriptor, HelperInput.byteCount + 1) != 0 && errno == EPERM)
        }

        @Test(.enabled(if: I.hasFaults, "in debug builds alone"), arguments: [I.Fault.memoryFault, .open, .wrongMagic])
        func aHelperThatEndsLeavesNoMemory(_ fault: I.Fault) throws {
            let before = I.memoryFiles()
            let decoder = I.decoder(fault)
            #expect(throws: ImageIsolationError.self) { try I.decode(try S.file("baseline.jpg"), by: decoder) }
            #expect(I.memoryFiles() == before)
            try expectSame(try S.file("baseline.jpg"), by: IsolatedDecoder(pool: decoder.pool))
            #expect(I.memoryFiles().subtracting(before).count == 2)
        }
    }
}
#endif
