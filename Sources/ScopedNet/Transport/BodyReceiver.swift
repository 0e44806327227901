import FoundationEssentials

/// The body of one response: where its bytes go, how many have come, and how many may.
///
/// It decides and counts; the transfer pauses, fails or makes the writer of a file as its answers say.
struct BodyReceiver: ~Copyable {
    /// The answer to bytes that have come, or to the length of those that will.
    enum Answer {
        /// The bytes were taken.
        case taken
        /// The bytes were handed to the writer of the file.
        case written
        /// The bytes were not taken: the reader is slower than the network.
        case full
        /// The rest of a body that nobody reads is too much to be read. The response counts as complete.
        case cutShort
        /// The bytes were not taken: the file needs a writer first (``fileWriter``).
        case needsWriter(FileSink)
        /// The bytes were not taken: the destination has just become known.
        case destinationChosen
        /// The transfer fails.
        case failed(NetworkError.Code, String)
        /// The file cannot be written.
        case writingFailed(NetworkError)
    }

    var destination = BodyDestination.memory(limit: 0)
    /// The most bytes of a file or a stream.
    var maxBytes = Int64.max
    private var buffer = BodyBuffer()
    private(set) var received: Int64 = 0
    /// The declared length; nil where it is not known.
    private(set) var expected: Int64?
    private(set) var isCutShort = false
    /// The writer of a body that goes to a file, from its first byte on.
    var fileWriter: FileWriter?
    /// The loop has it among those to be asked at the end of its turn.
    var hasUnflushedBytes = false

    /// To read a body to its end costs less than a new connection, up to here.
    static let mostDropped: Int64 = 1 << 20

    init() {}

    // MARK: The other side

    /// Connects a destination that may be slower than the network: it has the network thread go on when it has caught up.
    func connect(_ id: TransferID, _ thread: NetworkThread) {
        switch destination {
        case .held(let held): held.connect { thread.post(.unpause(id)) }
        case .stream(let stream): stream.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.cancel(id)) })
        case .observed(let stream, _):
            stream.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.unpause(id)) })
        case .memory, .collected, .memoryPrefix, .file: break
        }
    }

    /// Makes the writer of a file.
    mutating func makeWriter(of file: FileSink, _ id: TransferID, _ thread: NetworkThread) {
        fileWriter = FileWriter(file, group: BlockingPool.Group(folderOf: file.destination)) { thread.post(.unpause(id)) }
    }

    // MARK: Receiving

    /// Takes the declared length, before the first byte.
    mutating func expect(_ length: Int64) -> Answer {
        expected = length
        switch destination {
        case .file(let file): return fits(file.count + length) ?? .taken
        case .stream: return fits(length) ?? .taken
        case .observed(_, limit: nil): return .taken
        case .memory(let limit), .observed(_, let limit?):
            if let refusal = refusal(of: length, upTo: limit) { return refusal }
            buffer.reserve(Int(length))
            return .taken
        case .collected(let body, let limit):
            if let refusal = refusal(of: length, upTo: limit) { return refusal }
            body.reserve(Int(length))
            return .taken
        case .memoryPrefix, .held: return .taken
        }
    }

    /// Takes bytes as they come.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) -> Answer {
        let count = Int64(bytes.count)
        switch destination {
        case .memory(let limit):
            if let refusal = collect(bytes, upTo: limit) { return refusal }
        case .collected(let body, let limit):
            guard body.count + bytes.count <= limit else { return exceeds(limit) }
            guard body.append(bytes) else { return noMemory }
        case .observed(let stream, let limit):
            // Asked first: what it does not take comes again.
            guard buffer.count + bytes.count > limit ?? .max || stream.offer(bytes) == .accepted else { return .full }
            if let limit, let refusal = collect(bytes, upTo: limit) { return refusal }
        case .memoryPrefix(let limit, let isWanted):
            let rest = max(0, limit - buffer.count)
            guard rest == 0 || buffer.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(rest))) else { return noMemory }
            if !isWanted, received + count - Int64(limit) > Self.mostDropped {
                received += count
                isCutShort = true
                return .cutShort
            }
        case .file(let file):
            guard let fileWriter else { return .needsWriter(file) }
            if let refusal = fits(fileWriter.start + received + count) { return refusal }
            if let failure = file.refusal ?? fileWriter.failure { return .writingFailed(failure) }
            fileWriter.take(bytes, left: expected.map { $0 - received })
            received += count
            return .written
        case .stream(let stream):
            if let refusal = fits(received + count) { return refusal }
            if stream.offer(bytes) == .pause { return .full }
        case .held(let held):
            guard let place = held.destination() else { return .full }
            destination = place
            return .destinationChosen
        }
        received += count
        return .taken
    }

    /// - Returns: the refusal of what memory does not take.
    private mutating func collect(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) -> Answer? {
        guard buffer.count + bytes.count <= limit else { return exceeds(limit) }
        return buffer.append(bytes) ? nil : noMemory
    }

    // MARK: Ending

    /// Ends the body where it is; the response counts as complete.
    mutating func cutShort() { isCutShort = true }

    /// Moves the collected bytes out.
    mutating func takeBytes() -> Data {
        if case .collected(let body, _) = destination { return body.data }
        return buffer.take()
    }

    /// Takes back what belongs to one transfer. A small buffer is kept for the next.
    mutating func end() {
        fileWriter = nil
        hasUnflushedBytes = false
        if buffer.count > 0 { buffer = BodyBuffer() }
        destination = .memory(limit: 0)
        maxBytes = .max
        received = 0
        expected = nil
        isCutShort = false
    }

    /// - Returns: the refusal of more bytes than the limit.
    private func fits(_ count: Int64) -> Answer? {
        guard count > maxBytes else { return nil }
        return .failed(.bodyTooLarge, "the response body exceeds \(maxBytes) bytes")
    }

    /// - Returns: the refusal of a declared length.
    private func refusal(of length: Int64, upTo limit: Int) -> Answer? {
        length <= limit ? nil : .failed(.bodyTooLarge, "the response body has \(length) bytes, more than \(limit)")
    }

    private func exceeds(_ limit: Int) -> Answer { .failed(.bodyTooLarge, "the response body exceeds \(limit) bytes") }

    private var noMemory: Answer { .failed(.resources, "no memory for more than \(received) bytes of the response body") }
}
