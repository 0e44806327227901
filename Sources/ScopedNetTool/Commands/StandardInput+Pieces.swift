import Dispatch
import FoundationEssentials
import Glibc

extension StandardInput {
    /// Standard input in pieces, read when they are wanted. One iteration only. A signal ends it with an error.
    struct Pieces: AsyncSequence, Sendable {
        struct AsyncIterator: AsyncIteratorProtocol {
            func next() async throws -> Data? {
                // Reading waits for whoever writes: not on a thread that tasks share.
                let result = await withCheckedContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume(returning: StandardInput.piece()) }
                }
                return try result.get()
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
    }

    /// What is there, up to 64 KiB; nil at the end.
    private static func piece() -> Result<Data?, ToolFailure> {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            guard Interruption.process.wait(for: POLLIN, on: STDIN_FILENO) else { return .failure(.interrupted) }
            let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
            if count >= 0 { return .success(count == 0 ? nil : Data(buffer[..<count])) }
            guard errno == EINTR else {
                return .failure(ToolFailure(ExitStatus(code: 26), "standard input cannot be read: \(String(cString: strerror(errno)))"))
            }
        }
    }
}
