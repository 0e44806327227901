/// The decisions of reading a file ahead of the network: which piece is read next, and when the
/// upload has to wait. (pure)
struct ReadAheadState<Piece> {
    enum Taken {
        case piece(Piece, count: Int, offset: Int)
        /// It is being read; `received` says when it has come.
        case notYet
        /// The file has become shorter.
        case short
    }

    struct Reading: Equatable {
        let offset: Int64
        let count: Int
        /// The upload has begun anew when this is not the present one any more.
        let generation: Int
    }

    struct Received: Equatable {
        /// The piece will be sent; it is free again otherwise.
        var isKept = false
        /// The upload waits for it.
        var wakes = false
    }

    /// As it was when the file was opened.
    let length: Int64
    let pieceBytes: Int
    /// Pieces that are kept ready.
    let depth: Int
    private var pieces: [(piece: Piece, count: Int)] = []
    /// How much of the first piece has been sent.
    private var used = 0
    private var nextOffset: Int64 = 0
    private var generation = 0
    private var isAtEnd = false
    private var isStarved = false
    private(set) var isReading = false
    private(set) var isClosed = false

    init(length: Int64, pieceBytes: Int, depth: Int) {
        self.length = length
        self.pieceBytes = pieceBytes
        self.depth = max(1, depth)
    }

    // MARK: Network thread

    mutating func take() -> Taken {
        if let first = pieces.first { return .piece(first.piece, count: first.count - used, offset: used) }
        if isAtEnd { return .short }
        isStarved = true
        return .notYet
    }

    /// - Returns: a piece that is free again.
    mutating func sent(_ count: Int) -> Piece? {
        used += count
        guard let first = pieces.first, used >= first.count else { return nil }
        used = 0
        return pieces.removeFirst().piece
    }

    /// The upload begins anew somewhere.
    ///
    /// - Returns: the pieces that are free again.
    mutating func rewind(to offset: Int64) -> [Piece] {
        defer { pieces = [] }
        used = 0
        generation += 1
        nextOffset = offset
        isAtEnd = false
        isStarved = false
        return pieces.map(\.piece)
    }

    /// - Returns: what has to be read now, by a job of its own; nil when there is one, or enough
    ///   is ready.
    mutating func begin() -> Reading? {
        guard !isReading, !isClosed, !isAtEnd, pieces.count < depth, nextOffset < length else { return nil }
        isReading = true
        return Reading(offset: nextOffset, count: Int(min(Int64(pieceBytes), length - nextOffset)), generation: generation)
    }

    /// - Returns: true when the file may be closed now; the job does so otherwise.
    mutating func close() -> Bool {
        defer { isClosed = true }
        return !isClosed && !isReading
    }

    // MARK: The job

    /// Takes a piece that was read; `count` is zero at the end of the file.
    mutating func received(_ piece: Piece, count: Int, _ reading: Reading) -> Received {
        isReading = false
        guard reading.generation == generation, !isClosed else { return Received() }
        if count == 0 {
            isAtEnd = true
        } else {
            pieces.append((piece, count))
            nextOffset += Int64(count)
        }
        defer { isStarved = false }
        return Received(isKept: count > 0, wakes: isStarved)
    }

    /// - Returns: true when the upload waits.
    mutating func failed(_ reading: Reading) -> Bool {
        isReading = false
        defer { isStarved = false }
        return isStarved
    }
}
