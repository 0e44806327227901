import Glibc
import SystemSupport

/// Writes a download to its file on a thread that may block, so that the network thread waits for
/// no disk.
///
/// From its first byte to its last, the file is the writer's: what discards it meanwhile, such as a
/// cancel, is done when the disk has returned.
final class FileWriter: @unchecked Sendable {
    // Safety: `filling` and `flushedAt` are touched by the network thread only; everything else is
    // immutable or behind the lock.

    /// Memory that is used again and again.
    private final class Buffer: @unchecked Sendable {
        // Safety: handed from the network thread to the job and back through the writer's lock;
        // whoever has handed it over keeps nothing.
        let bytes: UnsafeMutableRawBufferPointer
        var count = 0

        init(_ size: Int) { bytes = .allocate(byteCount: size, alignment: 16) }
        deinit { bytes.deallocate() }

        var isFull: Bool { count == bytes.count }
        var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[..<count]) }

        /// - Returns: how many of the bytes had room.
        func append(_ source: UnsafeRawBufferPointer) -> Int {
            let fitting = min(source.count, bytes.count - count)
            UnsafeMutableRawBufferPointer(rebasing: bytes[count..<count + fitting])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[..<fitting]))
            count += fitting
            return fitting
        }
    }

    private struct State {
        var decisions = FileWriterState<Buffer, NetworkError>(window: FileWriter.window)
        var spare: [Buffer] = []
        var ended: (@Sendable () -> Void)?
    }

    enum Ending {
        /// All is written, or nothing more will be.
        case done(NetworkError?)
        /// The job says so.
        case waits
    }

    /// Bytes that may wait for the disk before the transfer is paused.
    static let window = 1 << 20
    /// One write of many: more than this wait in other buffers.
    private static let piece = 256 << 10
    private static let leastBuffer = 16 << 10
    /// Few bytes are handed over as soon as this time has passed since the last ones.
    static let flushInterval: UInt64 = 5_000_000

    let file: FileSink
    /// Where the body begins in the file.
    let start: Int64
    private let group: BlockingPool.Group
    private let changed: @Sendable () -> Void
    private let state = Lock(State())
    private var filling: Buffer?
    private var flushedAt: UInt64 = 0

    /// Makes a writer of a file on a disk's `group` of threads. `changed` is called when a paused transfer goes on, and when writing has
    /// failed, on any thread.
    init(_ file: FileSink, group: BlockingPool.Group, changed: @escaping @Sendable () -> Void) {
        self.file = file
        self.group = group
        self.changed = changed
        start = file.count
        file.hold()
    }

    /// Why writing has failed. Any thread.
    var failure: NetworkError? { state.withLock { $0.decisions.failure } }

    // MARK: Network thread

    /// Takes all of the bytes. `left` is the number that is to come, these included; a small body needs no large buffer.
    func take(_ bytes: UnsafeRawBufferPointer, left: Int64?) {
        var rest = bytes
        while !rest.isEmpty {
            let buffer = filling ?? makeBuffer(Int(clamping: left ?? Int64(rest.count)))
            filling = buffer
            rest = UnsafeRawBufferPointer(rebasing: rest[buffer.append(rest)...])
            if buffer.isFull { handOver() }
        }
    }

    private func makeBuffer(_ wanted: Int) -> Buffer {
        if let spare = state.withLock({ $0.spare.popLast() }) { return spare }
        return Buffer(min(Self.piece, max(Self.leastBuffer, wanted)))
    }

    private func handOver() {
        guard let buffer = filling else { return }
        filling = nil
        guard state.withLock({ $0.decisions.handOver(buffer, count: buffer.count) }) else { return }
        BlockingPool.shared.submit(group) { self.work() }
    }

    /// Between two turns: few bytes do not wait for more of them.
    ///
    /// - Returns: when it has to be asked again; nil when nothing is left.
    func flush(now: UInt64) -> UInt64? {
        guard filling != nil else { return nil }
        guard flushedAt &+ Self.flushInterval <= now else { return flushedAt &+ Self.flushInterval }
        flushedAt = now
        handOver()
        return nil
    }

    /// Between two turns.
    ///
    /// - Returns: true when the transfer has to be paused.
    func pauses() -> Bool { state.withLock { $0.decisions.pauses() } }

    /// Takes the end of the body. `ended` is called, on any thread, where the answer is to wait.
    func end(_ ended: @escaping @Sendable () -> Void) -> Ending {
        handOver()
        let (isDone, failure) = state.withLock { state in
            state.ended = ended
            return (state.decisions.end(), state.decisions.failure)
        }
        guard isDone else { return .waits }
        file.release()
        return .done(failure)
    }

    // MARK: The job

    private func work() {
        while true {
            switch state.withLock({ $0.decisions.next() }) {
            case .write(let buffer): write(buffer)
            case .idle: return
            case .finished:
                file.release()
                let ended = state.withLock { state in
                    defer { state.ended = nil }
                    return state.ended
                }
                ended?()
                return
            }
        }
    }

    private func write(_ buffer: Buffer) {
        do throws(NetworkError) { try file.write(buffer.content) } catch {
            let dropped = state.withLock { $0.decisions.fail(error) }
            withExtendedLifetime(dropped) {}
            return changed()
        }
        buffer.count = 0
        let goesOn = state.withLock { state in
            if buffer.bytes.count == Self.piece { state.spare.append(buffer) }
            return state.decisions.wrote()
        }
        if goesOn { changed() }
    }
}
