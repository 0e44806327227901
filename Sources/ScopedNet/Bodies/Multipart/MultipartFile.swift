import FoundationEssentials
import Glibc
import SystemSupport

/// The files of multipart bodies.
enum MultipartFile {
    private static let pieceBytes = 128 << 10

    static func size(of path: String) throws(NetworkError) -> Int64 {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .unreadable(path, "the file of a part") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw NetworkError(.fileUnreadable, phase: .preparing, message: "\(path) is not a regular file")
        }
        guard access(path, R_OK) == 0 else { throw .unreadable(path, "the file of a part") }
        return Int64(status.st_size)
    }

    /// Reads to the end, wherever that is by now: whoever declared a length compares. On threads of its own, as disks can be slow.
    static func read(_ path: String, to send: (Data) async throws -> Void) async throws {
        let file = try await BlockingPool.shared.run(.program) { try OpenFile(path) }
        while let piece = try await BlockingPool.shared.run(.program, { try file.next(upTo: pieceBytes) }) { try await send(piece) }
    }

    private final class OpenFile: @unchecked Sendable {
        // Safety: `descriptor` is set in `init` and closed in `deinit`; `offset` is touched by one job at a time, as each is awaited before
        // the next one is submitted.
        private let descriptor: Int32
        private var offset: off_t = 0

        init(_ path: String) throws {
            // Without blocking: something else may have taken the place of the file, and opening a FIFO waits for its writer.
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else {
                throw MultipartForm.BodyFailure("the file of a part cannot be read: \(SystemFailure.text())")
            }
            var status = stat()
            guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                // Closed by `deinit`, which runs here too.
                throw MultipartForm.BodyFailure("the file of a part is not a regular file any more")
            }
        }

        deinit { close(descriptor) }

        func next(upTo count: Int) throws -> Data? {
            var piece = Data(count: count)
            let position = offset
            let got = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, position) }
            guard got >= 0 else {
                throw MultipartForm.BodyFailure("the file of a part cannot be read: \(SystemFailure.text())")
            }
            offset += off_t(got)
            return got == 0 ? nil : piece.prefix(got)
        }
    }
}
