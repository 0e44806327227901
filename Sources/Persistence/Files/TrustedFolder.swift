import CStore
import Glibc

/// A folder that is open, found by a walk that trusts nothing but ``FileTrust``. What is done in it
/// is done by its descriptor.
///
/// All calls block for as long as the disk does.
package final class TrustedFolder: Sendable {
    package let descriptor: Int32
    /// Without links, dots and empty parts.
    package let path: String
    private let trust: FileTrust

    fileprivate init(_ descriptor: Int32, path: String, _ trust: FileTrust) {
        self.descriptor = descriptor
        self.path = path
        self.trust = trust
    }

    deinit { close(descriptor) }

    /// Opens a folder in which files are kept.
    ///
    /// - Parameters:
    ///   - path: absolute.
    ///   - creates: makes it and what leads to it, for the owner alone, where they are missing.
    ///   - trust: the rule, with the users that count.
    /// - Returns: the open folder.
    /// - Throws: `missing`, `unavailable` for a path that is not trusted, `diskFull`, `system`.
    package static func open(_ path: String, creates: Bool, trust: FileTrust = .current) throws(StoreError) -> TrustedFolder {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw StoreError(.unavailable, "the folder of a store is an absolute path")
        }
        var walk = FolderWalk(path, trust)
        return try walk.run(creates: creates)
    }

    /// Opens a folder in this one that the library made, and takes it away from all but its owner.
    ///
    /// - Throws: as `open`; `unavailable` for a link, too.
    package func made(_ name: String, creates: Bool) throws(StoreError) -> TrustedFolder {
        let path = path + "/" + name
        var opened = openat(descriptor, name, FolderWalk.flags)
        if opened < 0, errno == ENOENT, creates {
            guard mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
                throw StoreError(call: "mkdir", path: path, errno: errno)
            }
            opened = openat(descriptor, name, FolderWalk.flags)
        }
        guard opened >= 0 else {
            if errno == ENOTDIR || errno == ELOOP { throw .untrusted(.notAFolder, path) }
            throw StoreError(call: "open", path: path, errno: errno)
        }
        let folder = TrustedFolder(opened, path: path, trust)
        guard let facts = FileTrust.Facts(opened) else { throw StoreError(call: "fstat", path: path, errno: errno) }
        if let refusal = trust.refusal(made: facts, as: .folder) { throw .untrusted(refusal, path) }
        if facts.mode & 0o777 != 0o700, fchmod(opened, 0o700) != 0 { throw StoreError(call: "fchmod", path: path, errno: errno) }
        return folder
    }

    // MARK: Files

    /// Opens a file, which is not followed where it is a link, nor waited for where it is a pipe.
    ///
    /// - Throws: as `open` of a folder; `missing` where it is not there and `flags` do not make it.
    package func file(_ name: String, _ flags: Int32) throws(StoreError) -> Int32 {
        let opened = openat(descriptor, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
        guard opened >= 0 else {
            if errno == ELOOP { throw .untrusted(.notAFile, path + "/" + name) }
            throw StoreError(call: "open", path: path + "/" + name, errno: errno)
        }
        do throws(StoreError) { try Self.check(opened, path + "/" + name, trust) } catch {
            close(opened)
            throw error
        }
        return opened
    }

    /// Makes a file that is not there yet, for the owner alone, open for reading and writing.
    package func create(_ name: String) throws(StoreError) -> Int32 { try file(name, O_RDWR | O_CREAT | O_EXCL) }

    /// Checks that a file is the library's own, or that there is none of that name.
    package func check(_ name: String) throws(StoreError) {
        guard let facts = FileTrust.Facts(name, in: descriptor) else { return }
        if let refusal = trust.refusal(made: facts, as: .file) { throw .untrusted(refusal, path + "/" + name) }
    }

    /// Checks that an open file is the library's own.
    package static func check(_ opened: Int32, _ path: String, _ trust: FileTrust = .current) throws(StoreError) {
        guard let facts = FileTrust.Facts(opened) else { throw StoreError(call: "fstat", path: path, errno: errno) }
        if let refusal = trust.refusal(made: facts, as: .file) { throw .untrusted(refusal, path) }
    }

    /// Removes a name that is no folder. Idempotent.
    ///
    /// - Returns: 0, or the `errno` of what went wrong.
    @discardableResult
    package func remove(_ name: String) -> Int32 { unlinkat(descriptor, name, 0) == 0 || errno == ENOENT ? 0 : errno }

    /// Gives a file of this folder a name in another one, which it replaces there.
    package func move(_ name: String, to folder: TrustedFolder, as new: String) throws(StoreError) {
        guard renameat(descriptor, name, folder.descriptor, new) == 0 else {
            throw StoreError(call: "rename", path: path + "/" + name, errno: errno)
        }
    }

    /// Gives a file of this folder a second name in another one.
    ///
    /// - Returns: false where that name is taken.
    package func link(_ name: String, to folder: TrustedFolder, as new: String) throws(StoreError) -> Bool {
        if linkat(descriptor, name, folder.descriptor, new, 0) == 0 { return true }
        guard errno == EEXIST else { throw StoreError(call: "link", path: folder.path + "/" + new, errno: errno) }
        return false
    }

    /// Makes the last change of a file now.
    func touch(_ name: String) { utimensat(descriptor, name, nil, AT_SYMLINK_NOFOLLOW) }

    /// The size in bytes and the time of the last change, in seconds since 1970; nil where there is
    /// no such name.
    package func status(of name: String) -> (size: Int, modified: Int)? {
        var status = stat()
        guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return (Int(status.st_size), Int(status.st_mtim.tv_sec))
    }

    /// The names in the folder; none where it cannot be read.
    func names() -> [String] {
        // A position of its own: a copy of the descriptor would share it with the next reader.
        let opened = openat(descriptor, ".", FolderWalk.flags)
        return opened < 0 ? [] : Files.names(reading: opened)
    }

    /// Whether the folder has a name.
    var isLinked: Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_nlink > 0
    }
}

/// The way from the root to a folder, a part at a time.
private struct FolderWalk: ~Copyable {
    static let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    /// As many as the kernel follows (path_resolution(7)).
    private static let mostLinks = 40

    private struct Part {
        var name: String
        /// Whether other users can make names in this folder, or in one above it.
        var isShared: Bool
    }

    private var trust: FileTrust
    private var descriptor: Int32 = -1
    private var parts: [Part] = []
    /// The next one last.
    private var pending: [String]
    private var links = 0

    init(_ path: String, _ trust: FileTrust) {
        self.trust = trust
        pending = Self.names(path)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Bytes: a slash with an accent behind it is another `Character`.
    private static func names(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).reversed().map { String(decoding: $0, as: UTF8.self) }
    }

    private var path: String { parts.count > 1 ? parts.dropFirst().map { "/" + $0.name }.joined() : "/" }
    private var isShared: Bool { parts.last?.isShared ?? false }

    mutating func run(creates: Bool) throws(StoreError) -> TrustedFolder {
        try begin()
        while let name = pending.popLast() {
            switch name {
            case ".": break
            case "..": try goUp()
            default: try enter(name, creates: creates)
            }
        }
        let above = parts.dropLast().last?.isShared ?? false
        try decide(path, FileTrust.Facts(descriptor)) { trust, facts in trust.refusal(keeping: facts, beneathShared: above) }
        defer { descriptor = -1 }
        return TrustedFolder(descriptor, path: path, trust)
    }

    private mutating func begin() throws(StoreError) {
        var root = open("/", Self.flags)
        if root < 0, errno == EACCES { root = open("/", Self.flags | CSTORE_O_PATH) }
        guard root >= 0 else { throw StoreError(call: "open", path: "/", errno: errno) }
        parts = []
        try take(root, "")
    }

    /// Replaces the present folder by one that was opened, once that is trusted.
    private mutating func take(_ opened: Int32, _ name: String) throws(StoreError) {
        if descriptor >= 0 { close(descriptor) }
        descriptor = opened
        let above = isShared
        parts.append(Part(name: name, isShared: above))
        let facts = FileTrust.Facts(opened)
        try decide(path, facts) { trust, facts in trust.refusal(leading: facts, beneathShared: above) }
        if let facts, trust.isShared(facts) { parts[parts.count - 1].isShared = true }
    }

    /// What is above was looked at on the way down.
    private mutating func goUp() throws(StoreError) {
        guard parts.count > 1 else { return }
        let opened = folder("..")
        guard opened >= 0 else { throw StoreError(call: "open", path: path + "/..", errno: errno) }
        close(descriptor)
        descriptor = opened
        parts.removeLast()
    }

    private mutating func enter(_ name: String, creates: Bool) throws(StoreError) {
        var opened = folder(name)
        if opened < 0, errno == ENOENT, creates {
            guard mkdirat(descriptor, name, 0o700) == 0 || errno == EEXIST else {
                throw StoreError(call: "mkdir", path: path(of: name), errno: errno)
            }
            opened = folder(name)
        }
        if opened >= 0 { return try take(opened, name) }
        guard errno == ENOTDIR || errno == ELOOP else { throw StoreError(call: "open", path: path(of: name), errno: errno) }
        try follow(name)
    }

    /// Not every folder that may be passed may be read.
    private func folder(_ name: String) -> Int32 {
        let opened = openat(descriptor, name, Self.flags)
        return opened < 0 && errno == EACCES ? openat(descriptor, name, Self.flags | CSTORE_O_PATH) : opened
    }

    private func path(of name: String) -> String { parts.count > 1 ? path + "/" + name : "/" + name }

    /// Reads a link by its descriptor, so that it is the one that was looked at.
    private mutating func follow(_ name: String) throws(StoreError) {
        let link = openat(descriptor, name, CSTORE_O_PATH | O_NOFOLLOW | O_CLOEXEC)
        guard link >= 0 else { throw StoreError(call: "open", path: path(of: name), errno: errno) }
        defer { close(link) }
        guard let facts = FileTrust.Facts(link), facts.kind == .link else { throw .untrusted(.notAFolder, path(of: name)) }
        let shared = isShared
        try decide(path(of: name), facts) { trust, facts in trust.refusal(link: facts, beneathShared: shared) }
        links += 1
        guard links <= Self.mostLinks else { throw StoreError(call: "open", path: path(of: name), errno: ELOOP) }
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlinkat(link, "", &target, target.count)
        guard count > 0 else { throw StoreError(call: "readlink", path: path(of: name), errno: errno) }
        let text = String(decoding: target.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        pending += Self.names(text)
        if text.utf8.first == UInt8(ascii: "/") { try begin() }
    }

    /// Who is in a group is asked only where it matters: it may take a question to a directory
    /// service.
    private mutating func decide(
        _ path: String, _ facts: FileTrust.Facts?, _ rule: (FileTrust, FileTrust.Facts) -> FileTrust.Refusal?
    ) throws(StoreError) {
        guard let facts else { throw StoreError(call: "fstat", path: path, errno: errno) }
        guard var refusal = rule(trust, facts) else { return }
        if case .group(let group) = refusal, trust.privateGroup == nil, FileTrust.isPrivate(group, of: trust.user) {
            trust.privateGroup = group
            guard let second = rule(trust, facts) else { return }
            refusal = second
        }
        throw .untrusted(refusal, path)
    }
}

extension StoreError {
    static func untrusted(_ refusal: FileTrust.Refusal, _ path: String) -> StoreError { StoreError(.unavailable, refusal.message(path)) }
}
