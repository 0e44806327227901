import FoundationEssentials
import Glibc

/// A file that is read piece by piece, on threads that may wait for its disk.
enum PiecewiseFile {
    /// A file that cannot be read, on its way through a body's sequence.
    struct Unreadable: Error {
        let error: NetworkError
    }

    /// Opens the file and closes it. Blocks.
    ///
    /// - Throws: `fileUnreadable` for what is not there, not to be read, or no regular file.
    static func check(_ path: String) throws(NetworkError) { _ = try OpenFile(path) }

    /// Reads to the end, wherever that is by now.
    static func read(_ path: String, upTo count: Int, to send: (Data) async throws -> Void) async throws {
        let file = try await BlockingPool.shared.run(.program) {
            do throws(NetworkError) { return try OpenFile(path) } catch { throw Unreadable(error: error) }
        }
        while let piece = try await BlockingPool.shared.run(.program, { try file.next(upTo: count) }) { try await send(piece) }
    }

    private final class OpenFile: @unchecked Sendable {
        // Safety: `descriptor` is set in `init` and closed in `deinit`; `offset` is touched by one job at a time, as each is awaited before
        // the next one is submitted.
        private let path: String
        private let descriptor: Int32
        private var offset: off_t = 0

        init(_ path: String) throws(NetworkError) {
            guard !path.utf8.contains(0) else { throw .nulInPath(path, .fileUnreadable) }
            self.path = path
            // Without blocking: opening a FIFO would wait for its writer.
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { throw .unreadable(path, "the file to upload") }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                // Closed by `deinit`, which runs here too.
                throw NetworkError(.fileUnreadable, phase: .preparing, message: "\(path) is not a regular file")
            }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }

        func next(upTo count: Int) throws -> Data? {
            var piece = Data(count: count)
            let position = offset
            let got = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, position) }
            guard got >= 0 else { throw Unreadable(error: .unreadable(path, "the file to upload")) }
            offset += off_t(got)
            return got == 0 ? nil : piece.prefix(got)
        }
    }
}
