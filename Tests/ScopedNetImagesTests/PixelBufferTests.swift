import CleanSlate
import FoundationEssentials
import Testing

@testable import ScopedNetImages

/// The memory of pictures: small ones from the heap, large ones in pages of their own.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct PixelBufferTests {
    /// Around the first size in pages, the first in large pages, and what does not end with a page.
    @Test(arguments: [1, 4_096, 65_535, 65_536, 65_540, 196_608, (2 << 20) - 4, 2 << 20, (2 << 20) + 4, 4_000_000, 9_000_004])
    func itIsZeroAndAsLongAsItSays(count: Int) throws {
        let buffer = try PixelBuffer(byteCount: count) { bytes in
            #expect(bytes.count == count && bytes.allSatisfy { $0 == 0 })
            bytes[0] = 1
            bytes[count - 1] = 2
        }
        buffer.withBytes { bytes in
            #expect(bytes.count == count && bytes[count - 1] == 2 && (count == 1 || bytes[0] == 1))
            #expect(UInt(bitPattern: bytes.baseAddress) % 16 == 0)
        }
        let copy = try buffer.withBytes { try PixelBuffer(copying: $0) }
        #expect(buffer.withBytes { one in copy.withBytes { other in one.elementsEqual(other) } })
    }

    @Test(arguments: [1_000, 200_000]) func whatFailsIsFreed(count: Int) {
        #expect(throws: CancellationError.self) { _ = try PixelBuffer(byteCount: count) { _ in throw CancellationError() } }
    }

    @Test func moreThanThereIsIsAnError() {
        #expect(throws: ImageError.self) { _ = try PixelBuffer(byteCount: .max) { _ in } }
        #expect(throws: ImageError.self) { _ = try PixelBuffer(byteCount: .max / 2) { _ in } }
    }

    /// A codec that writes behind its pixels does not reach those of another picture.
    @Test func behindLargeOnesIsAPageThatEndsTheProcess() async {
        await #expect(processExitsWith: .failure) {
            _ = try PixelBuffer(byteCount: 200_000) { bytes in
                bytes.baseAddress?.storeBytes(of: 1, toByteOffset: bytes.count + 15, as: UInt8.self)
            }
        }
        await #expect(processExitsWith: .success) {
            _ = try PixelBuffer(byteCount: 200_000) { bytes in
                bytes.baseAddress?.storeBytes(of: 1, toByteOffset: bytes.count - 1, as: UInt8.self)
            }
        }
    }
}
