public import FoundationEssentials
import Glibc

/// What a download that broke off has left: a part of the file, and a record of where it came from.
///
/// They lie beside the file they are to become, `NAME.scopednet-part` and `NAME.scopednet-resume`, the record for the eyes of the user alone
/// (mode 0600), as its URL may hold a secret. A download to the same file goes on with them (``DownloadOptions/resumes``), in this process or in
/// a later one; nobody else needs them, and they may be deleted at any time that no download uses them.
///
/// All calls read the disk and block for as long as that takes. Any thread.
public struct PartialDownload: Sendable, Hashable {
    /// What the part is to become.
    public let file: URL
    /// Where it comes from, as asked for, without userinfo.
    public let url: String
    /// What the server is asked about whether the file is still the same: an entity tag in its quotes, or a date (RFC 9110 section 13.1.5).
    public let validator: String
    /// How many bytes there are. After a restart of the machine, those that are known to have come to the device before.
    public let bytes: Int64
    /// Of the whole file; nil when the server has not said.
    public let total: Int64?
    /// When the last byte came.
    public let changed: Date

    /// The part of one file; nil when there is none that could be gone on with. A download that is under way has one.
    public static func of(_ file: URL) -> PartialDownload? {
        guard file.isFileURL, !file.path.utf8.contains(0), let names = PartNames(target: file.path) else { return nil }
        return PartialDownload(names)
    }

    /// All in a folder, by the names of their files; those under way as well. Folders in it are not looked into.
    ///
    /// - Throws: ``NetworkError`` with code `fileUnreadable` when the folder cannot be read.
    public static func all(in folder: URL) throws(NetworkError) -> [PartialDownload] {
        try found(in: folder).compactMap { PartialDownload($0) }.sorted { $0.file.path < $1.file.path }
    }

    /// Removes part and record. Idempotent.
    ///
    /// - Throws: ``NetworkError`` with code `targetInUse` while a download uses them.
    public func remove() throws(NetworkError) {
        guard let names = PartNames(target: file.path) else { return }
        try Self.remove(names)
    }

    /// Removes all in a folder that nothing was added to for some time, and halves of which the other is missing. Those of downloads that are under
    /// way stay.
    ///
    /// - Parameters:
    ///   - folder: a file URL. Folders in it are left alone.
    ///   - age: the least time since the last change, by the clock of the file system; zero, the default, for all.
    /// - Returns: how many were removed.
    /// - Throws: ``NetworkError`` with code `fileUnreadable` when the folder cannot be read.
    @discardableResult
    public static func removeAll(in folder: URL, olderThan age: Duration = .zero) throws(NetworkError) -> Int {
        let now = Date.now.timeIntervalSince1970
        var removed = 0
        for names in try found(in: folder) {
            let last = [names.part, names.record, names.draft].compactMap { FileFacts($0)?.changed }.max() ?? 0
            guard now - last >= age / .seconds(1), (try? remove(names)) != nil else { continue }
            removed += 1
        }
        return removed
    }

    // MARK: Looking

    private init?(_ names: PartNames) {
        guard let record = PartRecord(fileAt: names.record), let validator = record.validator, let part = FileFacts(names.part),
            case let bytes = record.knownBytes(size: part.size, boot: MachineBoot.identifier), bytes > 0, bytes <= record.total ?? .max,
            // Whoever may write here may write anything: a name that belongs to another part is none.
            PartNames(target: names.folder + record.name)?.part == names.part
        else { return nil }
        file = URL(filePath: names.folder + record.name)
        url = record.url
        self.validator = validator
        self.bytes = bytes
        total = record.total
        changed = Date(timeIntervalSince1970: part.changed)
    }

    private static func found(in folder: URL) throws(NetworkError) -> Set<PartNames> {
        let path = folder.path
        guard folder.isFileURL, !path.utf8.contains(0), let listing = opendir(path) else {
            throw NetworkError(.fileUnreadable, phase: .preparing, message: "cannot read the folder \(path)")
        }
        defer { closedir(listing) }
        var found: Set<PartNames> = []
        while let entry = readdir(listing) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let names = PartNames.found(name, in: path.utf8.last == UInt8(ascii: "/") ? path : path + "/") { found.insert(names) }
        }
        return found
    }

    /// Opening takes the lock, so that nobody is disturbed; closing removes what has no record.
    private static func remove(_ names: PartNames) throws(NetworkError) {
        let part = DownloadPart(names)
        try part.open()
        part.drop()
        part.close()
    }
}

/// What the disk says of a regular file.
private struct FileFacts {
    let size: Int64
    /// In seconds since 1970.
    let changed: Double

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        size = Int64(status.st_size)
        changed = Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1e9
    }
}
