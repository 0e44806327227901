#if Images
import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

extension IsolationTests {
    /// The search for the helper, and its messages.
    @Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct HelperPureTests {
        @Test func thePathsAreTriedInOrder() {
            var location = HelperLocation(
                explicit: "/a/helper", variable: "/b/helper", executable: "/usr/lib/app/app", searchPath: "/bin:relative::/usr/bin")
            #expect(location.candidates == ["/a/helper"])
            location.explicit = nil
            #expect(location.candidates == ["/b/helper"])
            location.variable = ""
            #expect(location.candidates == ["/usr/lib/app/scopednet-decoder", "/bin/scopednet-decoder", "/usr/bin/scopednet-decoder"])
            #expect(HelperLocation().candidates.isEmpty)
            #expect(throws: ImageIsolationError.helperMissing(looked: [])) { try HelperLocation().find() }
            #expect(HelperLocation.current(explicit: nil).executable?.hasPrefix("/") == true)
        }

        private func answer(_ words: [UInt64], _ text: [UInt8] = []) throws -> HelperMessage.Answer {
            var bytes = words.withUnsafeBytes { Array($0) } + text
            bytes += [UInt8](repeating: 0, count: max(0, 248 - bytes.count))
            return try bytes.withUnsafeBytes { try HelperMessage.Answer($0) }
        }

        @Test func anAnswerIsChecked() throws {
            let (magic, version) = (HelperMessage.magic, HelperMessage.version)
            let right = try answer([magic, version, 1, 2, 3, 4], Array("a\u{1B}[2J\u{7F}é".utf8))
            #expect(right.status == .damaged && right.output == PixelSize(width: 2, height: 3) && right.scale == 4)
            #expect(right.text == "a?[2J???")
            #expect(try answer([magic, version, 0, .max, .max, .max]).output == PixelSize(width: .max, height: .max))
            #expect(throws: ImageIsolationError.self) { try answer([magic, version + 1, 0, 2, 3, 4]) }
            #expect(throws: ImageIsolationError.self) { try answer([magic + 1, version, 0, 2, 3, 4]) }
            #expect(throws: ImageIsolationError.self) { try answer([magic, version, 8, 2, 3, 4]) }
            #expect(throws: ImageIsolationError.self) { try answer(Array(repeating: 0, count: 100)) }
        }

        @Test func sharedMemoryIsSealed() throws {
            let data = Data([1, 2, 3])
            let copy = try SharedMemory.copy(of: data)
            let bytes = try copy.withBytes { Array($0) }
            #expect(bytes == [1, 2, 3])
            let pixels = try SharedMemory.empty(byteCount: 5_000)
            try pixels.sealContents()
            let areZero = try pixels.withBytes { $0.count == 5_000 && $0.allSatisfy { $0 == 0 } }
            #expect(areZero)
        }
    }
}
#endif
