import Glibc
import SystemSupport

/// A file that is being uploaded: opened and read, ahead of the network, on threads that may block.
final class UploadFile: Sendable {
    typealias Reader = @Sendable (Int32, UnsafeMutableRawBufferPointer, Int64) -> Int

    /// Memory that is used again and again.
    private final class Piece: @unchecked Sendable {
        // Safety: touched by the job that reads into it, then by the network thread that sends it;
        // handed over through the lock.
        let bytes: UnsafeMutableRawBufferPointer

        init(_ count: Int) { bytes = .allocate(byteCount: count, alignment: 16) }
        deinit { bytes.deallocate() }
    }

    private struct State {
        var decisions: ReadAheadState<Piece>
        var spare: [Piece] = []
        var failure: NetworkError.SystemError?
        var ready: (@Sendable () -> Void)?
    }

    private static let pieceBytes = 256 << 10

    let length: Int64
    private let descriptor: Int32
    private let group: BlockingPool.Group
    private let read: Reader
    private let state: Lock<State>

    /// Opens the file and reads its beginning. Blocks for as long as the disk does.
    init(
        _ path: String, group: BlockingPool.Group, read: @escaping Reader = { pread($0, $1.baseAddress, $1.count, off_t($2)) }
    ) throws(NetworkError) {
        guard !path.utf8.contains(0) else { throw .nulInPath(path, .fileUnreadable) }
        // Without blocking: opening a FIFO would wait for its writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .unreadable(path, "the file to upload") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw NetworkError(.fileUnreadable, phase: .preparing, message: "\(path) is not a regular file")
        }
        self.descriptor = descriptor
        self.group = group
        self.read = read
        length = Int64(status.st_size)
        let piece = Int(min(Int64(Self.pieceBytes), max(1, length)))
        state = Lock(State(decisions: ReadAheadState(length: length, pieceBytes: piece, depth: 2)))
        if let first = state.withLock({ $0.decisions.begin() }) { readPiece(first) }
    }

    deinit {
        if state.withLock({ $0.decisions.close() }) { close(descriptor) }
    }

    // MARK: Network thread

    /// - Parameter ready: called when bytes are there again after a `.notYet`. Any thread.
    func begin(ready: @escaping @Sendable () -> Void) {
        state.withLock { $0.ready = ready }
        readAhead()
    }

    /// Copies what is there.
    func take(into buffer: UnsafeMutableRawBufferPointer) -> UploadFeed.Read {
        let taken = state.withLock { state -> UploadFeed.Read in
            switch state.decisions.take() {
            case .piece(let piece, let available, let offset):
                let count = min(available, buffer.count)
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: piece.bytes[offset..<offset + count]))
                if let free = state.decisions.sent(count) { state.spare.append(free) }
                return .bytes(count)
            case .notYet:
                if let failure = state.failure { return .failed(failure) }
                return .notYet
            case .short: return .end
            }
        }
        readAhead()
        return taken
    }

    func rewind(to offset: Int64) {
        state.withLock { state in
            state.spare += state.decisions.rewind(to: offset)
            state.failure = nil
        }
        readAhead()
    }

    /// The transfer is over. Never blocks.
    func end() {
        let closes = state.withLock { state in
            state.ready = nil
            return state.decisions.close()
        }
        if closes { BlockingPool.shared.submit(group) { self.closeFile() } }
    }

    // MARK: Elsewhere

    private func readAhead() {
        guard let reading = state.withLock({ $0.failure == nil ? $0.decisions.begin() : nil }) else { return }
        BlockingPool.shared.submit(group) {
            var next: ReadAheadState<Piece>.Reading? = reading
            while let reading = next {
                self.readPiece(reading)
                next = self.state.withLock { $0.failure == nil ? $0.decisions.begin() : nil }
            }
        }
    }

    private func readPiece(_ reading: ReadAheadState<Piece>.Reading) {
        let piece = state.withLock { $0.spare.popLast() } ?? Piece(state.withLock { $0.decisions.pieceBytes })
        let target = UnsafeMutableRawBufferPointer(rebasing: piece.bytes[..<reading.count])
        var count = read(descriptor, target, reading.offset)
        while count < 0, errno == EINTR { count = read(descriptor, target, reading.offset) }
        let code = errno
        let (ready, closes) = state.withLock { state -> ((@Sendable () -> Void)?, Bool) in
            let wakes: Bool
            if count < 0 {
                wakes = state.decisions.failed(reading)
                state.failure = NetworkError.SystemError(code: code)
            } else {
                let received = state.decisions.received(piece, count: count, reading)
                if !received.isKept { state.spare.append(piece) }
                wakes = received.wakes
            }
            return (wakes ? state.ready : nil, state.decisions.isClosed)
        }
        ready?()
        if closes { closeFile() }
    }

    private func closeFile() { close(descriptor) }
}
