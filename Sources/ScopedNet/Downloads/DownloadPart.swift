import Glibc

/// The part of a file that is being downloaded, and its record: two files beside the target (``PartNames``).
///
/// They may be cut off at any system call (SIGKILL). So the record is written before the first byte and removed before the first byte of
/// another file, and neither counts without the other. What came is brought to the device now and then, and when the part is closed, and the record says
/// how much that was: after a loss of power no more than that counts. The part is locked (flock(2)) for as long as it is open: other processes see that the
/// target is in use, and a crash lets go of it.
///
/// Blocks for as long as the disk does.
final class DownloadPart: @unchecked Sendable {
    // Safety: used by one thread at a time, whoever has the turn of its `DownloadClaim`.
    let names: PartNames
    private let calls: FileCalls
    /// The present start of the machine.
    private let boot: String?
    /// How much may come before it is brought to the device: what a loss of power costs at most.
    private let interval: Int64
    private var descriptor: Int32 = -1
    /// Where the next byte goes.
    private(set) var count: Int64 = 0
    /// Where the present body has to end, if that is known.
    private var bodyEnd: Int64?
    /// Of the whole file, if that is known.
    private var total: Int64?
    private(set) var record: PartRecord?
    /// What was brought to the device, or could not be.
    private var lastSynchronized: Int64 = 0

    init(
        _ names: PartNames, calls: FileCalls = .system, boot: String? = MachineBoot.identifier, interval: Int64 = 64 << 20
    ) {
        self.names = names
        self.calls = calls
        self.boot = boot
        self.interval = interval
    }

    deinit { close() }

    var isOpen: Bool { descriptor >= 0 }

    // MARK: Opening

    /// Opens what is there, or makes an empty part. Idempotent.
    ///
    /// - Throws: `targetInUse` while another process downloads to the target; `fileUnwritable` when something else has the part's name.
    func open() throws(NetworkError) {
        guard !isOpen else { return }
        // Whoever has just finished has given the file that was opened here its own name: then this one's is free again.
        for _ in 0..<16 {
            let opened = try lockedFile()
            guard isStillThere(opened) else {
                Glibc.close(opened)
                continue
            }
            descriptor = opened
            count = size
            record = PartRecord(fileAt: names.record)
            return
        }
        throw .targetInUse(names.target)
    }

    private func lockedFile() throws(NetworkError) -> Int32 {
        // Nothing is followed and nothing is waited for: in a folder of many users anything may have that name.
        let opened = Glibc.open(
            names.part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, FileSink.mode(for: names.target))
        guard opened >= 0 else { throw .file(errno, "cannot create \(names.part)") }
        guard Self.lock(opened) else {
            Glibc.close(opened)
            throw .targetInUse(names.target)
        }
        // A file system without locks has the lock of this process alone.
        guard Self.isOurs(opened) else {
            Glibc.close(opened)
            throw NetworkError(.fileUnwritable, phase: .preparing, message: "\(names.part) is not the part of a download")
        }
        return opened
    }

    /// A child that this process has just forked shares the lock of a part that was closed meanwhile, until it executes its program: a tenth of a
    /// second is enough for that, and nobody else is waited for.
    private static func lock(_ opened: Int32) -> Bool {
        for _ in 0..<20 {
            if flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { return true }
            usleep(5_000)
        }
        return false
    }

    /// A regular file of this user with one name: what another has put there would be overwritten, or would become the file.
    static func isOurs(_ opened: Int32) -> Bool {
        var status = stat()
        return fstat(opened, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink <= 1
    }

    private func isStillThere(_ opened: Int32) -> Bool {
        var (mine, named) = (stat(), stat())
        return fstat(opened, &mine) == 0 && lstat(names.part, &named) == 0 && mine.st_dev == named.st_dev && mine.st_ino == named.st_ino
    }

    /// True where another file has the part's name, as in a folder that was removed and made anew: what lies there is another download's.
    private var isReplaced: Bool {
        var named = stat()
        return isOpen && lstat(names.part, &named) == 0 && !isStillThere(descriptor)
    }

    /// Removes the record, if it is this part's.
    private func removeRecord() {
        guard !isReplaced else { return }
        unlink(names.record)
        unlink(names.draft)
    }

    private var size: Int64 {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
    }

    // MARK: Receiving

    /// What there is to go on with; nil when the whole file has to be asked for.
    func request(for asked: PartRecord) -> PartRequest? {
        guard isOpen, let record, record.isOf(asked) else { return nil }
        // The file says how much there is, as long as the machine runs: of the last write all or a part may have come to it.
        return PartRequest(record, size: record.knownBytes(size: size, boot: boot))
    }

    /// The body goes on where the request began.
    ///
    /// - Returns: false when there is no longer what that was made of; nothing is changed then.
    func append(to asked: PartRequest, end: Int64, total: Int64?) throws(NetworkError) -> Bool {
        try append(to: asked, at: asked.offset, end: end, total: total)
    }

    /// The part is all of the file.
    func complete(_ asked: PartRequest) throws(NetworkError) -> Bool {
        try append(to: asked, at: asked.size, end: asked.size, total: asked.size)
    }

    private func append(to asked: PartRequest, at offset: Int64, end: Int64, total: Int64?) throws(NetworkError) -> Bool {
        // A part that was shorter would get a hole.
        guard isOpen, record?.isOfSameVersion(as: asked.record) == true, size >= offset else { return false }
        try move(to: offset)
        lastSynchronized = min(offset, record?.synchronized ?? 0)
        // From now on the file says again how much there is; of an earlier start of the machine it did not.
        if record?.boot != boot { note(lastSynchronized) }
        bodyEnd = end
        self.total = total
        return true
    }

    /// Begins the whole file again. Without a new record nothing is kept unless it becomes complete.
    func restart(_ new: PartRecord?) throws(NetworkError) {
        drop()
        try move(to: 0)
        bodyEnd = new?.total
        total = new?.total
        // Where it cannot be written, the download goes on without one.
        guard var new else { return }
        new.boot = boot
        new.synchronized = nil
        guard new.write(to: names.record, calls) else { return }
        record = new
    }

    /// What there is does not count any more.
    func drop() {
        removeRecord()
        record = nil
        lastSynchronized = 0
        guard isOpen else { return }
        ftruncate(descriptor, 0)
        count = 0
    }

    /// Brings what has come to the device, and says so in the record: in this order, and only where both can be done.
    private func synchronize(_ count: Int64) {
        guard record != nil, count > lastSynchronized else { return }
        // A disk that cannot do it is not asked again with each write.
        lastSynchronized = count
        guard calls.synchronize(descriptor) == 0 else { return }
        note(count)
    }

    private func note(_ synchronized: Int64) {
        guard var new = record, !isReplaced else { return }
        new.synchronized = synchronized
        new.boot = boot
        if new.replace(fileAt: names.record, draft: names.draft, calls) { record = new }
    }

    private func move(to offset: Int64) throws(NetworkError) {
        guard ftruncate(descriptor, off_t(offset)) == 0, lseek(descriptor, off_t(offset), SEEK_SET) == off_t(offset) else {
            throw .file(errno, "cannot write \(names.part)")
        }
        count = offset
    }

    func write(_ bytes: UnsafeRawBufferPointer) throws(NetworkError) {
        guard isOpen else { throw NetworkError(.cancelled, phase: .receiving, message: "the download has ended") }
        guard Int64(bytes.count) <= (bodyEnd ?? .max) - count else {
            // Nobody knows which of its bytes are the right ones.
            drop()
            throw NetworkError(.badResponse, phase: .receiving, message: "more bytes came than the response had declared")
        }
        var rest = bytes
        while !rest.isEmpty {
            let written = calls.write(descriptor, rest.baseAddress, rest.count)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { throw .file(written < 0 ? errno : EIO, "cannot write \(names.part)") }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            count += Int64(written)
        }
        if count - lastSynchronized >= interval { synchronize(count) }
    }

    // MARK: Ending

    /// Nil when the file is complete, as far as anybody has said how long it is.
    var shortfall: NetworkError? {
        guard let total = total ?? bodyEnd, count < total else { return nil }
        return NetworkError(.truncatedBody, phase: .receiving, message: "\(count) of \(total) bytes of the file have come")
    }

    /// Gives the part the name of the file in one step (rename(2)).
    ///
    /// - Parameters:
    ///   - synchronizes: brings the bytes and the name to the device first (fsync(2)).
    ///   - mayPlace: asked just before the step; when it answers false, the part stays what it is. A disk that hangs within the step itself may
    ///     finish it after the run was told of its end.
    /// - Throws: `truncatedBody` when bytes are missing, `fileUnwritable` when the part was replaced or cannot be moved, and a late
    ///   download's `cancelled` when `mayPlace` says no.
    func commit(synchronizes: Bool, mayPlace: () -> Bool = { true }) throws(NetworkError) {
        if let shortfall { throw shortfall }
        guard isStillThere(descriptor) else {
            throw NetworkError(.fileUnwritable, phase: .receiving, message: "\(names.part) was removed or replaced")
        }
        try FileSink.checkDestination(names.target)
        // Late errors (NFS, quotas) are told at a close; that of a second descriptor keeps the lock.
        let second = dup(descriptor)
        guard second >= 0 else { throw .file(errno, "cannot finish \(names.part)") }
        var code = synchronizes && fsync(second) != 0 ? errno : 0
        if calls.close(second) != 0, code == 0 { code = errno }
        if code != 0 {
            drop()
            throw .file(code, "cannot finish \(names.part)")
        }
        guard mayPlace() else { throw .lateDownload }
        guard calls.rename(names.part, names.target) == 0 else { throw .file(errno, "cannot replace \(names.target)") }
        // In this order: a record without a part is nothing, a complete part without a record would be lost.
        unlink(names.record)
        unlink(names.draft)
        Glibc.close(descriptor)
        descriptor = -1
        record = nil
        if synchronizes { FileSink.synchronizeFolder(of: names.target) }
    }

    /// Lets go of it: what can be gone on with stays, anything else is removed.
    ///
    /// - Returns: how many bytes stay, nil for none.
    @discardableResult
    func close() -> Int64? {
        guard isOpen else { return nil }
        defer {
            Glibc.close(descriptor)
            descriptor = -1
        }
        let size = size
        if record != nil, size > 0 {
            // Where nothing was written, what an earlier start of the machine left is still in doubt.
            if record?.boot == boot { synchronize(size) }
            let known = record?.knownBytes(size: size, boot: boot) ?? 0
            return known > 0 ? known : nil
        }
        guard !isReplaced else { return nil }
        removeRecord()
        unlink(names.part)
        return nil
    }
}

extension NetworkError {
    static func targetInUse(_ path: String) -> NetworkError {
        NetworkError(.targetInUse, phase: .preparing, message: "another download to \(path) is under way")
    }
}
