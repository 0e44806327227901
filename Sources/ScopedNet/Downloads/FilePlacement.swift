import Glibc

/// The file that a download is written to, and the step in which it gets its name.
///
/// Where the file system can do it the file has no name until it is complete (`O_TMPFILE`,
/// open(2)): what a killed process leaves is nothing. Elsewhere it has one that
/// ``PartialDownload/removeAll(in:olderThan:)`` knows, and is locked as long as it is in use.
struct FilePlacement: Sendable {
    let calls: FileCalls
    /// The name of a file that has none, for the moment of a replacement; the name of the file
    /// elsewhere.
    let temporary: String

    /// Chooses a name in the folder of `destination`, which the file is to become.
    init(beside destination: String, _ calls: FileCalls) {
        self.calls = calls
        // Bytes: a slash with an accent behind it is another `Character`.
        let start = destination.utf8.lastIndex(of: UInt8(ascii: "/")).map(destination.utf8.index(after:)) ?? destination.startIndex
        // 255 bytes are the most (NAME_MAX), 4 a scalar.
        let stem = String(String.UnicodeScalarView(destination[start...].unicodeScalars.prefix(48)))
        // Not a counter: that of another process of the same number may have left one.
        temporary = "\(destination[..<start])\(stem)-\(String(UInt64.random(in: .min ... .max), radix: 16))\(PartNames.partSuffix)"
    }

    /// Opens a new file for reading and writing.
    ///
    /// - Returns: its descriptor, and whether it has a name; a negative one where it cannot be
    ///   made, and `errno` says why.
    func open(_ mode: mode_t) -> (descriptor: Int32, isNamed: Bool) {
        let folder = PartNames(target: temporary)?.folder ?? ""
        if access("/proc/self/fd", X_OK) == 0 {
            let nameless = Glibc.open(folder.isEmpty ? "." : folder, Self.nameless | O_RDWR | O_CLOEXEC, mode)
            if nameless >= 0 { return (nameless, false) }
        }
        let named = Glibc.open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        if named >= 0 { flock(named, LOCK_EX | LOCK_NB) }
        return (named, true)
    }

    /// O_TMPFILE, which is a function-like macro's worth of bits to Swift: `__O_TMPFILE |
    /// O_DIRECTORY`.
    private static let nameless = 0o20_000_000 | O_DIRECTORY

    /// Gives the file a name, in place of the file that may be there. `mayPlace` is asked between the temporary name and the last step, each of
    /// which may take as long as the disk likes.
    ///
    /// - Returns: false where that fails, and `errno` says why. There is then no name left.
    /// - Throws: `cancelled` where it may not be placed. There is no name left either.
    func replace(
        _ path: String, _ descriptor: Int32, isNamed: Bool, mayPlace: () -> Bool = { true }
    ) throws(NetworkError) -> Bool {
        guard isNamed || name(descriptor, temporary) else { return false }
        guard mayPlace() else {
            unlink(temporary)
            throw .lateDownload
        }
        return calls.rename(temporary, path) == 0 || removeTemporary()
    }

    /// Gives the file a name that is free: this one, else `name (1).txt` and so on. `mayPlace` is asked before each name that is tried.
    ///
    /// - Returns: the name; nil where there is none, and `errno` says why.
    /// - Throws: `cancelled` where it may not be placed.
    func place(
        at path: String, _ descriptor: Int32, isNamed: Bool, mayPlace: () -> Bool = { true }
    ) throws(NetworkError) -> String? {
        for number in 0..<Self.mostTries {
            let candidate = number == 0 ? path : DownloadName.numbered(path, number)
            guard mayPlace() else {
                if isNamed { unlink(temporary) }
                throw .lateDownload
            }
            if isNamed ? take(candidate) : name(descriptor, candidate) { return candidate }
            guard errno == EEXIST else { break }
        }
        if isNamed { _ = removeTemporary() }
        return nil
    }

    private static let mostTries = 100_000

    private func name(_ descriptor: Int32, _ path: String) -> Bool { calls.name(descriptor, path) == 0 }

    /// The name is taken first, by an empty file: not every file system that makes no files without
    /// a name has second names.
    private func take(_ path: String) -> Bool {
        let reserved = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard reserved >= 0 else { return false }
        close(reserved)
        if calls.rename(temporary, path) == 0 { return true }
        let code = errno
        unlink(path)
        errno = code
        return false
    }

    /// - Returns: false, with the `errno` there was.
    private func removeTemporary() -> Bool {
        let code = errno
        unlink(temporary)
        errno = code
        return false
    }
}
