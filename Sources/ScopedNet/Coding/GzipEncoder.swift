import CZlib
import FoundationEssentials
import Glibc

/// Makes one gzip member (RFC 1952) of pieces of bytes. The same bytes at the same level give the same member: it has no time and no name.
final class GzipEncoder: @unchecked Sendable {
    // Safety: one task has it, and awaits each piece before the next. zlib keeps the stream's own address, so it is on the heap.

    enum Mode {
        /// Bytes may stay inside until more have come.
        case more
        /// All that was given can be decoded from what has come out.
        case flush
        /// The end.
        case finish

        fileprivate var zlib: Int32 {
            switch self {
            case .more: Z_NO_FLUSH
            case .flush: Z_SYNC_FLUSH
            case .finish: Z_FINISH
            }
        }
    }

    private let stream: UnsafeMutablePointer<z_stream>
    private static let outputBytes = 64 << 10
    /// The bytes that have gone in.
    private(set) var bytesTaken: Int64 = 0

    /// - Throws: `resources` where there is no memory (256 KiB).
    init(level: Int) throws(NetworkError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard scopednet_deflate_init(stream, Int32(level)) == Z_OK else { throw .resources("gzip encoder", ENOMEM) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// Takes all of the piece.
    ///
    /// - Returns: the bytes that are ready; possibly none.
    func encode(_ piece: Data, _ mode: Mode) throws(NetworkError) -> Data {
        var output = Data()
        bytesTaken += Int64(piece.count)
        let result = piece.withUnsafeBytes { input in run(input, mode, &output) }
        guard result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR else {
            throw NetworkError(.resources, phase: .sending, message: "zlib cannot compress: error \(result)")
        }
        return output
    }

    private func run(_ input: UnsafeRawBufferPointer, _ mode: Mode, _ output: inout Data) -> Int32 {
        // Safety: zlib reads through `next_in` only, its type merely lacks the `const`.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(input.count)
        defer {
            stream.pointee.next_in = nil
            stream.pointee.next_out = nil
        }
        var result = Z_OK
        repeat {
            var piece = Data(count: Self.outputBytes)
            let left = piece.withUnsafeMutableBytes { buffer -> Int in
                stream.pointee.next_out = buffer.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(buffer.count)
                result = deflate(stream, mode.zlib)
                return Int(stream.pointee.avail_out)
            }
            output.append(piece.prefix(Self.outputBytes - left))
            // A full buffer means that there may be more (zlib.h, deflate()).
            guard left == 0 else { break }
        } while result == Z_OK
        return result
    }
}
