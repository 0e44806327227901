package import FoundationEssentials
import Glibc
import SystemSupport

/// A file that receives a body: written beside its destination and moved there in one step on success only (rename(2)), so that
/// an existing file is either the old one or the complete new one.
///
/// Written by one thread at a time: the transport's writer from the first byte to the last, the pipeline afterwards. Discarded by any. Blocks
/// for as long as the disk does.
@_spi(Transport) public final class FileSink: @unchecked Sendable {
    // Safety: what changes is behind `turn`, but `destination`, which `commit` sets before its answer is told. Whoever uses the open file
    // is one of its holders, and as long as there is one, a discard leaves the file to the last of them. The descriptor is taken out under the
    // lock by the one who closes it: nobody else has it then.
    /// Where the file goes; once it is there, its name, which may be another where the server had named it.
    public private(set) var destination: String
    private let placement: FilePlacement
    private let calls: FileCalls
    /// A file that is there already stays.
    private let keepsExisting: Bool
    /// The part that is written instead of a temporary file; it is the claim's to keep or to remove.
    private let part: DownloadClaim?
    /// What is done to the part before the first byte, and not sooner.
    private enum Beginning {
        /// What there is of another file gives way.
        case restart(PartRecord?)
        /// The body goes on where the request said.
        case append(PartRequest, end: Int64, total: Int64?)
    }

    private struct Opened {
        let descriptor: Int32
        let isNamed: Bool
    }

    private struct Turn {
        /// The writer, and calls that use the file, one within the other.
        var holders = 0
        /// The writer holds the part with it.
        var holdsClaim = false
        var isDiscarded = false
        var beginning: Beginning?
        /// The part was not the one that was asked for any more.
        var hasMisfit = false
        var opened: Opened?
        var count: Int64 = 0

        /// - Returns: true for the last, when it is to remove what was discarded meanwhile.
        mutating func giveBack() -> Bool {
            holders -= 1
            return holders == 0 && isDiscarded
        }

        /// For the one who closes it.
        mutating func takeOpened() -> Opened? {
            defer { opened = nil }
            return opened
        }
    }

    /// Whose part is begun, and perhaps written.
    private let claim: DownloadClaim?
    private let turn: Lock<Turn>
    /// Why nothing is taken: the first byte ends the transfer.
    let refusal: NetworkError?
    var hasMisfit: Bool { turn.withLock { $0.hasMisfit } }
    var count: Int64 { turn.withLock { $0.count } }

    package init(destination: String, keepsExisting: Bool = false, calls: FileCalls = .system) {
        self.destination = destination
        self.calls = calls
        self.keepsExisting = keepsExisting
        part = nil
        claim = nil
        refusal = nil
        turn = Lock(Turn())
        placement = FilePlacement(beside: destination, calls)
    }

    convenience init(_ place: DownloadPlace) { self.init(destination: place.path, keepsExisting: place.isNamedByServer) }

    /// The body goes on with the part of a download, as it was asked for.
    init(part claim: DownloadClaim, destination: String, appendingTo asked: PartRequest, end: Int64, total: Int64?) {
        self.destination = destination
        part = claim
        self.claim = claim
        turn = Lock(Turn(beginning: .append(asked, end: end, total: total), count: asked.offset))
        refusal = nil
        calls = .system
        keepsExisting = false
        placement = FilePlacement(beside: destination, calls)
    }

    /// The part is the whole file.
    init(completePart claim: DownloadClaim, destination: String, count: Int64) {
        self.destination = destination
        part = claim
        self.claim = claim
        turn = Lock(Turn(count: count))
        refusal = nil
        calls = .system
        keepsExisting = false
        placement = FilePlacement(beside: destination, calls)
    }

    /// The body is a whole file, and the part is begun anew with it; without a record nothing of it is kept for another run.
    init(destination: String, restarting claim: DownloadClaim, _ record: PartRecord?) {
        self.destination = destination
        turn = Lock(Turn(beginning: .restart(record)))
        self.claim = claim
        part = record == nil ? nil : claim
        refusal = nil
        calls = .system
        keepsExisting = false
        placement = FilePlacement(beside: destination, calls)
    }

    /// Takes nothing: the transfer ends with its first byte.
    init(refusing refusal: NetworkError) {
        self.refusal = refusal
        part = nil
        claim = nil
        turn = Lock(Turn())
        destination = ""
        calls = .system
        keepsExisting = false
        placement = FilePlacement(beside: "", calls)
    }

    /// Nobody is left to wait for the disk.
    deinit {
        guard let opened = turn.withLock({ $0.takeOpened() }) else { return }
        let (placement, calls) = (placement, calls)
        BlockingPool.shared.submit(.program) { Self.remove(opened, placement, calls) }
    }

    // MARK: Whose turn it is

    /// Takes the file for the writer, and with it the part it is written to. Never blocks.
    func hold() {
        let holdsClaim = claim?.hold() ?? false
        turn.withLock { turn in
            turn.holders += 1
            turn.holdsClaim = holdsClaim
        }
    }

    /// The writer needs the file no more. Never blocks: what was discarded meanwhile is removed elsewhere.
    func release() {
        let (releasesClaim, removes) = turn.withLock { turn in
            defer { turn.holdsClaim = false }
            return (turn.holdsClaim, turn.giveBack())
        }
        if releasesClaim { claim?.release() }
        if removes { BlockingPool.shared.submit(.init(self)) { self.remove() } }
    }

    /// Around a call that uses the file on a thread that may block.
    private func beginUse() { turn.withLock { $0.holders += 1 } }
    private func endUse() { if turn.withLock({ $0.giveBack() }) { remove() } }

    private func use<Result>(
        _ claim: DownloadClaim, _ body: (DownloadPart) throws(NetworkError) -> Result
    ) throws(NetworkError) -> Result {
        try turn.withLock { $0.holdsClaim } ? claim.useHeld(body) : claim.use(body)
    }

    var isPart: Bool { part != nil }
    private var isDiscarded: Bool { turn.withLock { $0.isDiscarded } }

    /// rename(2) replaces devices, FIFOs and sockets, too: for root a download to `/dev/null` would be the end of it.
    static func checkDestination(_ destination: String) throws(NetworkError) {
        var status = stat()
        guard stat(destination, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw .file(EISDIR, "cannot replace \(destination)")
        default: throw NetworkError(.fileUnwritable, phase: .receiving, message: "\(destination) is not a regular file")
        }
    }

    /// What was for few eyes stays so: the mode of the file that is replaced, 0644 where there is none; less the umask.
    static func mode(for destination: String) -> mode_t {
        var status = stat()
        guard stat(destination, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return 0o644 }
        return status.st_mode & 0o777 | 0o600
    }

    /// One of the holders.
    private func open() throws(NetworkError) -> Int32 {
        if let opened = turn.withLock({ $0.opened }) { return opened.descriptor }
        if !keepsExisting { try Self.checkDestination(destination) }
        let (descriptor, isNamed) = placement.open(keepsExisting ? 0o644 : Self.mode(for: destination))
        if descriptor < 0 { throw .file(errno, "cannot create \(placement.temporary)") }
        turn.withLock { $0.opened = Opened(descriptor: descriptor, isNamed: isNamed) }
        return descriptor
    }

    /// Before the first byte, and before the end where there is none. Idempotent.
    func begin() throws(NetworkError) {
        guard let claim else { return }
        let beginning = turn.withLock { turn in
            defer { turn.beginning = nil }
            return turn.beginning
        }
        switch beginning {
        case nil: return
        case .restart(let record): try use(claim) { (part: DownloadPart) throws(NetworkError) in try part.restart(record) }
        case .append(let asked, let end, let total):
            let fits = try use(claim) { (part: DownloadPart) throws(NetworkError) in try part.append(to: asked, end: end, total: total) }
            guard !fits else { return }
            turn.withLock { $0.hasMisfit = true }
            throw NetworkError(
                .badResponse, phase: .receiving, message: "the part is not the one that was asked for any more")
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        if let refusal { throw refusal }
        try begin()
        beginUse()
        defer { endUse() }
        if let part {
            defer { turn.withLock { $0.count += Int64(bytes.count) } }
            return try use(part) { (file: DownloadPart) throws(NetworkError) in try file.write(bytes) }
        }
        guard !isDiscarded else { throw .lateDownload }
        let descriptor = try open()
        var rest = bytes
        while !rest.isEmpty {
            let written = calls.write(descriptor, rest.baseAddress, rest.count)
            if written < 0 {
                if errno == EINTR { continue }
                throw .file(errno, "cannot write \(destination)")
            }
            // No system does so for a file; a loop without an end would be the worse answer.
            if written == 0 { throw .file(EIO, "cannot write \(destination)") }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            turn.withLock { $0.count += Int64(written) }
        }
    }

    package func write(_ data: Data) throws(NetworkError) {
        let result = data.withUnsafeBytes { bytes in Result { () throws(NetworkError) in try write(bytes) } }
        try result.get()
    }

    /// Puts the complete file in its place, content codings undone.
    ///
    /// - Parameters:
    ///   - coding: the value of `Content-Encoding`; nil for none.
    ///   - limits: the limits on the expansion of a coding.
    ///   - synchronizes: bytes and name are on the device before this returns.
    ///   - mayPlace: asked behind all that may take as long as the disk likes, and for the last time just before the one system call that puts
    ///     the file in its place. A disk that hangs within that call may put it there after the end of its run was told: the call cannot be
    ///     taken back.
    /// - Throws: `cancelled` when the file was discarded or `mayPlace` says no, the errors of decoding, `fileUnwritable` and `diskFull`.
    package func commit(
        coding: String? = nil, limits: DecodingLimits = .default, synchronizes: Bool = false, mayPlace: () -> Bool = { true }
    ) throws(NetworkError) {
        // Discarded meanwhile, it is removed behind this.
        beginUse()
        defer { endUse() }
        guard !isDiscarded else { throw .lateDownload }
        try begin()
        if let part {
            return try use(part) { (file: DownloadPart) throws(NetworkError) in
                try file.commit(synchronizes: synchronizes) { !isDiscarded && mayPlace() }
            }
        }
        var descriptor = try open()
        if let coding, count > 0, let decoder = ContentDecoder.make(for: coding, limits: limits) {
            descriptor = try undo(decoder, descriptor)
        }
        var code = synchronizes && fsync(descriptor) != 0 ? errno : 0
        // Late errors (NFS, quotas) are told at a close; a file without a name would be gone with
        // its last descriptor. A second one is free whatever close(2) answers.
        let second = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        if second >= 0, calls.close(second) != 0, code == 0 { code = errno }
        guard code == 0 else {
            discard()
            throw .file(code, "cannot finish \(destination)")
        }
        func isWanted() -> Bool { !isDiscarded && mayPlace() }
        guard isWanted() else {
            discard()
            throw .lateDownload
        }
        try place(isWanted)
        if synchronizes { Self.synchronizeFolder(of: destination) }
    }

    private func place(_ mayPlace: () -> Bool) throws(NetworkError) {
        guard let opened = turn.withLock({ $0.takeOpened() }) else { throw .lateDownload }
        defer { _ = calls.close(opened.descriptor) }
        if keepsExisting {
            let name = try placement.place(at: destination, opened.descriptor, isNamed: opened.isNamed, mayPlace: mayPlace)
            guard let name else { throw .file(errno, "cannot create \(destination)") }
            destination = name
        } else if try !placement.replace(destination, opened.descriptor, isNamed: opened.isNamed, mayPlace: mayPlace) {
            throw .file(errno, "cannot replace \(destination)")
        }
    }

    /// A new name is on the device with its folder (fsync(2)). Not every file system can do it.
    static func synchronizeFolder(of destination: String) {
        let folder = PartNames(target: destination)?.folder ?? ""
        let opened = Glibc.open(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard opened >= 0 else { return }
        fsync(opened)
        close(opened)
    }

    /// Decodes into a second file and goes on with that. Servers may send a coding that was not asked for.
    ///
    /// - Returns: the descriptor of that.
    private func undo(_ decoder: ContentDecoder, _ coded: Int32) throws(NetworkError) -> Int32 {
        guard lseek(coded, 0, SEEK_SET) == 0 else { throw .file(errno, "cannot read \(destination)") }
        // The coded bytes live on in the open descriptor; the name is free for the decoded ones.
        let taken = turn.withLock { turn in
            turn.count = 0
            return turn.takeOpened()
        }
        guard let taken else { throw .lateDownload }
        defer { _ = calls.close(coded) }
        if taken.isNamed { unlink(placement.temporary) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        let descriptor = try open()
        var failure: NetworkError?
        do throws(ContentDecodingError) {
            while true {
                let got = read(coded, buffer.baseAddress, buffer.count)
                if got < 0, errno == EINTR { continue }
                if got < 0 { throw .stopped }
                if got == 0 { break }
                let piece = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<got])
                try decoder.decode(piece) { (decoded: UnsafeRawBufferPointer) throws(ContentDecodingError) in
                    do throws(NetworkError) { try write(decoded) } catch {
                        failure = error
                        throw .stopped
                    }
                }
            }
            try decoder.finish()
            return descriptor
        } catch {
            remove()
            throw failure ?? NetworkError(error, runID: 0, attempt: 1)
        }
    }

    /// Drops what was written; while a writer has the file, as soon as that has returned. Idempotent. What comes behind it writes nothing and
    /// puts nothing in its place.
    package func discard() {
        let isHeld = turn.withLock { turn in
            turn.isDiscarded = true
            return turn.holders > 0
        }
        if !isHeld { remove() }
    }

    /// It is not wanted, though it is whole: a part that is kept for later goes, too, also one of another version that it would have replaced.
    /// Blocks for as long as the disk does.
    func reject() {
        if let claim { try? use(claim) { (file: DownloadPart) throws(NetworkError) in file.drop() } }
        discard()
    }

    /// Puts nothing in its place from now on, unless that has begun. Never blocks; a ``discard()`` follows.
    func forbidPlacing() { turn.withLock { $0.isDiscarded = true } }

    /// Any number of threads may be here at once.
    private func remove() {
        let opened = turn.withLock { turn in
            if turn.opened != nil { turn.count = 0 }
            return turn.takeOpened()
        }
        if let opened { Self.remove(opened, placement, calls) }
    }

    private static func remove(_ opened: Opened, _ placement: FilePlacement, _ calls: FileCalls) {
        _ = calls.close(opened.descriptor)
        if opened.isNamed { unlink(placement.temporary) }
    }
}

extension NetworkError {
    /// The system would read such a path up to the NUL and take another file.
    static func nulInPath(_ path: String, _ code: Code) -> NetworkError {
        NetworkError(code, phase: .preparing, message: "the path '\(path)' contains a NUL")
    }

    /// The run has ended, and with it the file.
    static var lateDownload: NetworkError { NetworkError(.cancelled, phase: .receiving, message: "the download has ended") }

    static func file(_ code: Int32, _ what: String) -> NetworkError {
        let text = SystemFailure.text(of: code)
        return NetworkError(
            code == ENOSPC || code == EDQUOT ? .diskFull : .fileUnwritable, phase: .receiving, message: "\(what): \(text)",
            underlying: NetworkError.SystemError(code: code))
    }
}

extension NetworkError {
    /// An `errno` value.
    public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The value of `errno` (errno(3)).
        public let code: Int32
        /// The number and the text of strerror(3).
        public var description: String { "errno \(code): \(SystemFailure.text(of: code))" }
    }
}
