#if Images
import FoundationEssentials
import SystemSupport

/// The memory in which a helper is given files, one after the other: new pages for each file take longer than to write it.
///
/// Nothing here reads what is in it, so that a helper which writes to it changes no file but its own. It cannot become shorter or longer.
/// The helper is told how long a file is, and zeros follow the file, as in memory of its own: a codec that reads too far finds nothing of
/// the file before. That is no wall between two accounts. A helper that one file has taken over can keep what it sees of the next ones,
/// and the heap of a codec and ``HelperScratch`` may still have parts of those before; `picturesPerHelper` is for that.
final class HelperInput: Sendable {
    /// The most bytes of a file; a larger one has memory of its own.
    static let byteCount = 4 << 20

    let memory: SharedMemory
    /// The bytes that may not be zero.
    private let used = Lock(0)

    init() throws(SystemFailure) { memory = try SharedMemory.empty(byteCount: Self.byteCount) }

    /// Puts a file in the place of the one before.
    func write(_ data: Data) throws(SystemFailure) {
        try used.withLock { used throws(SystemFailure) in
            let before = used
            used = max(before, data.count)
            try memory.write(data)
            if before > data.count { try memory.clear(data.count..<before) }
            used = data.count
        }
    }
}
#endif
