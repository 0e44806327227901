import Glibc
import Persistence
import SystemSupport

/// The copy of one downloaded file into the cache, which its run waits for as long as it gets on.
///
/// All that is stored was read before the run gave the copy up, and so before its caller could change the file.
final class CacheCopy: Sendable {
    private struct State {
        /// Since the copy has a thread.
        var pieces: Int?
        var isGivenUp = false
        var isOver = false
    }

    let group: BlockingPool.Group
    /// The time that a copy may stand still.
    let patience: Duration
    private let transaction: CacheTransaction
    private let descriptor: Int32
    private let length: Int64
    private let state = Lock(State())

    /// Opens the file. Blocks for as long as its disk does.
    ///
    /// - Returns: nil where the cache takes no file now.
    init?(_ transaction: CacheTransaction, of path: String, length: Int64) {
        let copies = transaction.cache.copies
        guard transaction.storesFile, copies.admits else { return nil }
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        self.transaction = transaction
        self.length = length
        group = .init(copies)
        patience = max(transaction.cache.store.readTimeout, .milliseconds(100))
    }

    deinit { close(descriptor) }

    /// Copies, and stores the copy. Once. Blocks for as long as the disks do.
    func run(while mayGoOn: () -> Bool) {
        transaction.store(file: descriptor, length: length) {
            let isWanted = state.withLock { state in
                state.pieces = (state.pieces ?? 0) + 1
                return !state.isGivenUp
            }
            transaction.cache.copies.notePiece()
            return isWanted && mayGoOn()
        }
        let wasGivenUp = state.withLock { state in
            state.isOver = true
            return state.isGivenUp
        }
        if wasGivenUp { transaction.cache.copies.comeBack() }
    }

    /// The pieces that were copied; before the copy has a thread, those of the copies that it waits for.
    enum Progress: Equatable {
        case waiting(others: Int)
        case copying(pieces: Int)
    }

    var progress: Progress {
        if let pieces = state.withLock({ $0.pieces }) { return .copying(pieces: pieces) }
        return .waiting(others: transaction.cache.copies.pieces)
    }

    /// The run goes on without the copy.
    func giveUp() {
        let isFirst = state.withLock { state in
            guard !state.isGivenUp, !state.isOver else { return false }
            state.isGivenUp = true
            return true
        }
        if isFirst { transaction.cache.copies.giveUp() }
    }
}
