/// The decisions between a transfer and the file it goes to: what may wait in memory, when the
/// transfer is held up, and when it is over. (pure)
///
/// The network thread offers bytes and hands over full buffers; one job at a time, on a thread that
/// may block, writes them in order. What has been read from the network is always taken: the
/// transfer is paused between two turns of the network thread, where no byte is on its way, since
/// what libcurl keeps back for a paused transfer is lost with the connection.
struct FileWriterState<Buffer, Failure> {
    /// What the writing job does next.
    enum Step {
        case write(Buffer)
        /// Nothing waits, and the job ends.
        case idle
        /// As `idle`, and nothing will come: the file is let go of.
        case finished
    }

    /// Bytes that may wait before the transfer is paused; with half of them it goes on.
    let window: Int
    private var buffers = JobQueue<(buffer: Buffer, count: Int)>()
    /// Of the buffer that is being written.
    private var writing = 0
    /// Handed over and not yet written.
    private(set) var waiting = 0
    private(set) var isWriting = false
    private(set) var isPaused = false
    private(set) var failure: Failure?
    private var hasEnded = false

    init(window: Int) { self.window = max(1, window) }

    // MARK: Network thread

    /// - Returns: true when a job has to be begun.
    mutating func handOver(_ buffer: Buffer, count: Int) -> Bool {
        guard failure == nil else { return false }
        buffers.append((buffer, count))
        waiting += count
        defer { isWriting = true }
        return !isWriting
    }

    /// Asked between two turns, also where a transfer that was paused has gone on for another
    /// reason.
    ///
    /// - Returns: true when the transfer has to be paused. `wrote` tells when it goes on.
    mutating func pauses() -> Bool {
        guard failure == nil, waiting > window else { return false }
        isPaused = true
        return true
    }

    /// Nothing more comes.
    ///
    /// - Returns: true when nothing is left to be written; the job says so otherwise.
    mutating func end() -> Bool {
        hasEnded = true
        return !isWriting
    }

    // MARK: The job

    mutating func next() -> Step {
        if let (buffer, count) = buffers.popFirst() {
            writing = count
            return .write(buffer)
        }
        isWriting = false
        return hasEnded ? .finished : .idle
    }

    /// - Returns: true when a paused transfer goes on.
    mutating func wrote() -> Bool {
        waiting -= writing
        writing = 0
        guard isPaused, waiting <= window / 2 else { return false }
        isPaused = false
        return true
    }

    /// What waits is dropped, and nothing more is taken.
    ///
    /// - Returns: the buffers that were not written.
    mutating func fail(_ failure: Failure) -> [Buffer] {
        self.failure = failure
        var dropped: [Buffer] = []
        while let (buffer, _) = buffers.popFirst() { dropped.append(buffer) }
        waiting = 0
        writing = 0
        isPaused = false
        return dropped
    }
}
