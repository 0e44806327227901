public import FoundationEssentials
import Glibc

/// Reads a body, whole or in parts. Every byte is verified before it is handed out.
///
/// It keeps the file open: an eviction or a `removeAll` meanwhile changes nothing for it. It holds nothing of the database, so it may be
/// as slow as it likes. May be used from several threads; the calls block for as long as the disk does.
public final class BodyReader: Sendable {
    private enum Source {
        case data(Data)
        case file(descriptor: Int32, trailer: [UInt8])
    }

    private let source: Source
    private let layout: FrameLayout
    private let sealing: (any StoreSealing)?

    /// What a read costs least for: 64 KiB, at multiples of it.
    public static let preferredReadSize = FrameLayout.frameSize

    /// In bytes.
    public var length: Int { layout.length }

    init(_ data: Data) {
        source = .data(data)
        layout = FrameLayout(length: data.count)
        sealing = nil
    }

    /// Takes over the descriptor, also when it throws.
    init(file descriptor: Int32, layout: FrameLayout, checksum: Int64, _ sealing: (any StoreSealing)?) throws(StoreError) {
        self.layout = layout
        self.sealing = sealing
        do throws(StoreError) {
            guard Files.size(of: descriptor) == layout.fileSize else { throw StoreError(.damaged, "a body file has not the size it had") }
            var trailer = [UInt8](repeating: 0, count: layout.trailerSize)
            // A typed throw does not pass through the standard library's closures.
            let result = trailer.withUnsafeMutableBytes { buffer in
                Result { () throws(StoreError) in try Files.readAll(descriptor, into: buffer, at: layout.trailerStart) }
            }
            try result.get()
            let found = trailer.withUnsafeBytes { FrameLayout.checksum(ofTrailer: $0, length: layout.length) }
            guard found == checksum else { throw StoreError(.damaged, "the checksums of a body file are damaged") }
            source = .file(descriptor: descriptor, trailer: trailer)
        } catch {
            close(descriptor)
            throw error
        }
    }

    deinit {
        if case .file(let descriptor, _) = source { close(descriptor) }
    }

    /// - Parameters:
    ///   - offset: where to begin; negative counts as 0.
    ///   - count: how many bytes at most.
    /// - Returns: the bytes; empty at the end of the body.
    /// - Throws: `damaged` when the bytes on disk are not those that were written.
    public func read(at offset: Int, upTo count: Int) throws(StoreError) -> Data {
        let start = min(max(0, offset), layout.length)
        let range = start..<start + max(0, min(count, layout.length - start))
        switch source {
        case .data(let data):
            return data.subdata(in: data.startIndex + range.lowerBound..<data.startIndex + range.upperBound)
        case .file(let descriptor, let trailer):
            return try read(range, descriptor, trailer)
        }
    }

    /// Reads everything, and hands nothing out: a sealed body is looked at without its key, too.
    ///
    /// - Throws: as `read`.
    func check() throws(StoreError) {
        guard case .file(let descriptor, let trailer) = source else { return }
        for index in 0..<layout.frameCount { _ = try storedFrame(index, descriptor, trailer) }
    }

    /// A frame as it is in the file, verified.
    private func storedFrame(_ index: Int, _ descriptor: Int32, _ trailer: [UInt8]) throws(StoreError) -> Data {
        let place = layout.stored(index)
        var frame = Data(count: place.count)
        let result = frame.withUnsafeMutableBytes { buffer in
            Result { () throws(StoreError) in
                try Files.readAll(descriptor, into: buffer, at: place.lowerBound)
                let expected = Self.checksum(index, trailer)
                guard FrameLayout.checksum(UnsafeRawBufferPointer(buffer), frame: index) == expected else {
                    throw StoreError(.damaged, "a body file is damaged")
                }
            }
        }
        try result.get()
        return frame
    }

    private static func checksum(_ index: Int, _ trailer: [UInt8]) -> UInt64 {
        trailer.withUnsafeBytes {
            UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: index * FrameLayout.checksumSize, as: UInt64.self))
        }
    }

    private func readSealed(_ range: Range<Int>, _ descriptor: Int32, _ trailer: [UInt8]) throws(StoreError) -> Data {
        guard let sealing else { throw StoreError(.unavailable, "the body is encrypted") }
        let salt = Array(trailer.suffix(FrameLayout.saltSize))
        let frames = layout.frames(of: range)
        guard let first = frames.first else { return Data() }
        var body = Data(capacity: frames.count * FrameLayout.frameSize)
        for index in frames {
            let frame = try sealing.open(storedFrame(index, descriptor, trailer), context: SealingContext.frame(index, salt: salt))
            guard frame.count == layout.frame(index).count else { throw StoreError(.damaged, "a frame of another length") }
            body.append(frame)
        }
        let start = range.lowerBound - layout.frame(first).lowerBound
        return body.count == range.count ? body : body.subdata(in: start..<start + range.count)
    }

    /// Memory to read into. A large body has pages of its own, which the system has back with it: malloc would keep them between blocks that stay.
    private static func memory(_ count: Int) -> (UnsafeMutableRawPointer, Data.Deallocator)? {
        guard count > 1 << 20 else { return malloc(count).map { ($0, .free) } }
        let flags = MAP_PRIVATE | Int32(MAP_ANONYMOUS) | Int32(MAP_POPULATE)
        guard let start = mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), start != MAP_FAILED else { return nil }
        // Not `.unmap`, which is told the length at the end: a `Data` that was cut in place would keep the rest mapped.
        return (start, .custom { start, _ in munmap(start, count) })
    }

    private func read(_ range: Range<Int>, _ descriptor: Int32, _ trailer: [UInt8]) throws(StoreError) -> Data {
        if layout.overhead > 0 { return try readSealed(range, descriptor, trailer) }
        let frames = layout.frames(of: range)
        guard let first = frames.first, let last = frames.last else { return Data() }
        let covered = layout.frame(first).lowerBound..<layout.frame(last).upperBound
        guard let (memory, deallocator) = Self.memory(covered.count) else {
            throw StoreError(.system, "no memory for \(covered.count) bytes")
        }
        let buffer = UnsafeMutableRawBufferPointer(start: memory, count: covered.count)
        do throws(StoreError) {
            try Files.readAll(descriptor, into: buffer, at: covered.lowerBound)
            for index in frames {
                let frame = layout.frame(index)
                let bytes = UnsafeRawBufferPointer(
                    rebasing: buffer[frame.lowerBound - covered.lowerBound..<frame.upperBound - covered.lowerBound])
                guard FrameLayout.checksum(bytes, frame: index) == Self.checksum(index, trailer) else {
                    throw StoreError(.damaged, "a body file is damaged")
                }
            }
        } catch {
            _ = Data(bytesNoCopy: memory, count: covered.count, deallocator: deallocator)
            throw error
        }
        let data = Data(bytesNoCopy: memory, count: covered.count, deallocator: deallocator)
        if covered == range { return data }
        return data.subdata(in: range.lowerBound - covered.lowerBound..<range.upperBound - covered.lowerBound)
    }
}
