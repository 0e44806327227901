import Glibc
@_spi(Census) import ScopedNet

/// Bytes that are written once, before anything else sees them, and freed with the last picture that has them.
final class PixelBuffer: @unchecked Sendable {
    // Safety: written by `init` alone, or before it, read-only afterwards, freed by `deinit`, when no other reference exists.
    private let bytes: UnsafeRawBufferPointer
    private let memory: Memory

    private enum Memory {
        case heap(UnsafeMutableRawPointer)
        case pages(PageBlock)
        case mapping(UnsafeMutableRawPointer, Int)

        func release() {
            switch self {
            case .heap(let start): free(start)
            case .pages(let block): block.release()
            case .mapping(let start, let count): munmap(start, count)
            }
        }
    }

    /// From here on pixels have pages of their own. The system has them back with the picture, where malloc would keep them between pictures that stay: a
    /// tenth of what a gallery takes.
    private static let leastPages = 64 << 10

    init(byteCount: Int, _ fill: (UnsafeMutableRawBufferPointer) throws -> Void) throws {
        // A process may have some thousand mappings and no more: further pictures come from the heap.
        guard let (start, memory) = (byteCount < Self.leastPages ? nil : Self.pages(byteCount)) ?? Self.heap(byteCount) else {
            throw ImageError.exceeds(.decodedBytes, actual: byteCount, most: 0)
        }
        do { try fill(UnsafeMutableRawBufferPointer(start: start, count: byteCount)) } catch {
            memory.release()
            throw error
        }
        (bytes, self.memory) = (UnsafeRawBufferPointer(start: start, count: byteCount), memory)
        LiveObjects.born(.imageBuffer)
    }

    /// Copies bytes.
    convenience init(copying source: UnsafeRawBufferPointer) throws {
        try self.init(byteCount: source.count) { place in if !source.isEmpty { place.copyMemory(from: source) } }
    }

    /// Takes over a mapping that nothing writes to any more, and unmaps it at the end.
    init(mapped bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        // Safety: it has an address, as each mapping has.
        guard let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress) else { preconditionFailure("a mapping without an address") }
        memory = .mapping(start, bytes.count)
        LiveObjects.born(.imageBuffer)
    }

    deinit {
        memory.release()
        LiveObjects.died(.imageBuffer)
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result { try body(bytes) }

    private static func heap(_ byteCount: Int) -> (UnsafeMutableRawPointer, Memory)? {
        // The heap of no machine has a terabyte, and a sanitizer ends a process that asks for it.
        byteCount < 1 << 40 ? calloc(max(1, byteCount), 1).map { ($0, .heap($0)) } : nil
    }

    /// A codec that goes too far ends at the page behind, and not in another picture.
    private static func pages(_ byteCount: Int) -> (UnsafeMutableRawPointer, Memory)? {
        PageBlock(byteCount: byteCount, isFilledNext: true).map { ($0.start, .pages($0)) }
    }
}
