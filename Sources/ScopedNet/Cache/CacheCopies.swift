import SystemSupport

/// The copies of downloaded files into one cache, which share its disk: where that hangs, no further one is begun.
final class CacheCopies: Sendable {
    private struct State {
        var pieces = 0
        /// Were given up, and have not come back from the disk.
        var overdue = 0
    }

    private let state = Lock(State())

    var admits: Bool { state.withLock { $0.overdue <= 0 } }
    var pieces: Int { state.withLock { $0.pieces } }
    func notePiece() { state.withLock { $0.pieces += 1 } }
    func giveUp() { state.withLock { $0.overdue += 1 } }
    /// May come a moment before the word that it was given up.
    func comeBack() { state.withLock { $0.overdue -= 1 } }
}
