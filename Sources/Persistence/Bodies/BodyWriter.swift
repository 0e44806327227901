public import FoundationEssentials
import Glibc
import SystemSupport

/// Gathers a body as it comes. Small ones stay in memory, larger ones go to a file that nobody sees before it is complete.
///
/// Uses at most 256 KiB of memory and 8 bytes for each 64 KiB of the body. Calls block for as long as the disk does, so not for a network
/// thread. One caller at a time; only `abandon()` may come from elsewhere at any moment. Dropped unfinished, it leaves nothing behind.
public final class BodyWriter: Sendable {
    struct Limits: Sendable {
        /// Up to here a body stays in memory, and becomes a row.
        var inline: Int
        /// More than this is refused.
        var maximum: Int
    }

    private struct Gathered {
        var length = 0
        /// What is not yet in the file: all of it, or less than a frame.
        var buffer: [UInt8] = []
        var file: TemporaryFile?
        var trailer: [UInt8] = []

        func removeFile() { file?.discard() }
    }

    private enum State {
        case open(Gathered)
        /// A call has the bytes out.
        case busy(isAbandoned: Bool)
        case closed
    }

    private let limits: Limits
    private let sealing: (any StoreSealing)?
    private let disk: DiskThreads?
    /// Ties the frames of this file to each other.
    private let salt: [UInt8]
    private let makeFile: @Sendable () throws(StoreError) -> TemporaryFile
    private let state = Lock<State>(.open(Gathered()))

    init(
        limits: Limits, sealing: (any StoreSealing)? = nil, disk: DiskThreads? = nil,
        makeFile: @escaping @Sendable () throws(StoreError) -> TemporaryFile
    ) {
        self.limits = limits
        self.sealing = sealing
        self.disk = disk
        var generator = SystemRandomNumberGenerator()
        salt = sealing == nil ? [] : (0..<FrameLayout.saltSize).map { _ in UInt8.random(in: 0...255, using: &generator) }
        self.makeFile = makeFile
    }

    deinit { abandon() }

    /// Appends the bytes.
    ///
    /// - Throws: `tooLarge`, `diskFull`, `unavailable`, `system`; `closed` after the end or an `abandon()`, or while another call is
    ///   under way. After any of them the writer is closed, and its file gone.
    public func write(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        var gathered = try take()
        do throws(StoreError) {
            try append(bytes, to: &gathered)
        } catch {
            gathered.removeFile()
            state.withLock { $0 = .closed }
            throw error
        }
        let isAbandoned = state.withLock { state in
            if case .busy(isAbandoned: true) = state {
                state = .closed
                return true
            }
            state = .open(gathered)
            return false
        }
        guard isAbandoned else { return }
        gathered.removeFile()
        throw StoreError(.closed, "the body was abandoned")
    }

    /// Appends the bytes.
    ///
    /// - Throws: as `write` of a buffer.
    public func write(_ data: Data) throws(StoreError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(StoreError) in try write(bytes) } }
        try result.get()
    }

    /// What was written, ready for `Store.put`. Nothing can be written any more. Dropped without being put, it leaves nothing behind.
    ///
    /// - Throws: as `write`.
    public func finish() throws(StoreError) -> NewBody {
        var gathered = try take()
        defer { state.withLock { $0 = .closed } }
        guard let file = gathered.file else { return .data(Data(gathered.buffer)) }
        do throws(StoreError) {
            if !gathered.buffer.isEmpty { try writeFrame(&gathered, file) }
            gathered.trailer += salt
            try gathered.trailer.withUnsafeBytesTyped { (bytes) throws(StoreError) in
                try Files.writeAll(file.descriptor, bytes, path: file.path)
            }
        } catch {
            gathered.removeFile()
            throw error
        }
        let length = gathered.length
        let checksum = gathered.trailer.withUnsafeBytes { FrameLayout.checksum(ofTrailer: $0, length: length) }
        let layout = FrameLayout(length: length, overhead: sealing?.overhead ?? 0)
        return .file(
            BodyFile(temporary: file, layout: layout, checksum: checksum, sealing: sealing, disk: disk))
    }

    /// Gives up what was written. Any thread, any number of times; a `write` under way ends by itself and throws.
    public func abandon() {
        let gathered: Gathered? = state.withLock { state in
            switch state {
            case .open(let gathered):
                state = .closed
                return gathered
            case .busy:
                state = .busy(isAbandoned: true)
                return nil
            case .closed:
                return nil
            }
        }
        gathered?.removeFile()
    }

    private func take() throws(StoreError) -> Gathered {
        try state.withLock { (state) throws(StoreError) in
            guard case .open(let gathered) = state else { throw StoreError(.closed, "the body is not open for writing") }
            state = .busy(isAbandoned: false)
            return gathered
        }
    }

    private func append(_ bytes: UnsafeRawBufferPointer, to gathered: inout Gathered) throws(StoreError) {
        guard bytes.count <= limits.maximum - gathered.length else {
            throw StoreError(.tooLarge, "a body may have \(limits.maximum) bytes at most")
        }
        gathered.length += bytes.count
        if gathered.file == nil {
            guard gathered.length > limits.inline else {
                gathered.buffer.append(contentsOf: bytes)
                return
            }
            try spill(&gathered)
        }
        guard let file = gathered.file else { return }
        var rest = bytes
        while !rest.isEmpty {
            let part = UnsafeRawBufferPointer(rebasing: rest.prefix(FrameLayout.frameSize - gathered.buffer.count))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(part.count))
            if part.count == FrameLayout.frameSize {
                try writeFrame(part, &gathered.trailer, file)
                continue
            }
            gathered.buffer.append(contentsOf: part)
            if gathered.buffer.count == FrameLayout.frameSize { try writeFrame(&gathered, file) }
        }
    }

    /// What was gathered so far goes to a file.
    private func spill(_ gathered: inout Gathered) throws(StoreError) {
        let file = try makeFile()
        gathered.file = file
        let soFar = gathered.buffer
        gathered.buffer = []
        gathered.buffer.reserveCapacity(FrameLayout.frameSize)
        for start in stride(from: 0, to: soFar.count, by: FrameLayout.frameSize) {
            gathered.buffer.append(contentsOf: soFar[start..<min(start + FrameLayout.frameSize, soFar.count)])
            if gathered.buffer.count == FrameLayout.frameSize { try writeFrame(&gathered, file) }
        }
    }

    private func writeFrame(_ gathered: inout Gathered, _ file: TemporaryFile) throws(StoreError) {
        var trailer = gathered.trailer
        gathered.trailer = []
        try gathered.buffer.withUnsafeBytesTyped { (bytes) throws(StoreError) in try writeFrame(bytes, &trailer, file) }
        gathered.trailer = trailer
        gathered.buffer.removeAll(keepingCapacity: true)
    }

    private func writeFrame(_ bytes: UnsafeRawBufferPointer, _ trailer: inout [UInt8], _ file: TemporaryFile) throws(StoreError) {
        let index = trailer.count / FrameLayout.checksumSize
        let checksum: UInt64
        if let sealing {
            let sealed = Array(try sealing.seal(Data(bytes), context: SealingContext.frame(index, salt: salt)))
            checksum = sealed.withUnsafeBytes { FrameLayout.checksum($0, frame: index) }
            try sealed.withUnsafeBytesTyped { (bytes) throws(StoreError) in
                try Files.writeAll(file.descriptor, bytes, path: file.path)
            }
        } else {
            checksum = FrameLayout.checksum(bytes, frame: index)
            try Files.writeAll(file.descriptor, bytes, path: file.path)
        }
        withUnsafeBytes(of: checksum.littleEndian) { trailer.append(contentsOf: $0) }
    }
}

extension Array where Element == UInt8 {
    /// `withUnsafeBytes` for a typed throw.
    fileprivate func withUnsafeBytesTyped<Result>(_ body: (UnsafeRawBufferPointer) throws(StoreError) -> Result) throws(StoreError)
        -> Result
    {
        let result = withUnsafeBytes { bytes in Swift.Result { () throws(StoreError) in try body(bytes) } }
        return try result.get()
    }
}
