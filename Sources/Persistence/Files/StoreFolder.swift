import FoundationEssentials
import Glibc
import SystemSupport

/// Where the files of a store are, and their making and removing.
///
/// ```
/// store-1.sqlite, -wal, -shm   the database
/// store-1.lock                 held by every user
/// bodies-1/xx/…                large bodies, by random names
/// tmp-1/…                      bodies that are not complete
/// ```
/// Folders and files made here are for the owner alone. What is there already is used only where
/// ``FileTrust`` allows it, and files are removed by the descriptor of a folder that was looked at,
/// so that no link leads elsewhere.
struct StoreFolder: Sendable {
    let path: String
    let database: String
    let lock: String
    let bodies: String
    let temporary: String
    private let openTemporary = OpenTemporary()

    /// Of the tables and the layout of files. It is in the names, so that two versions of a program live side by side, and nothing is ever migrated.
    static let version: Int64 = 1

    private static let databaseName = "store-\(Self.version).sqlite"
    private static let bodiesName = "bodies-\(Self.version)"
    private static let temporaryName = "tmp-\(Self.version)"

    init(_ path: String) {
        var path = path
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        self.path = path
        database = "\(path)/\(Self.databaseName)"
        lock = "\(path)/store-\(Self.version).lock"
        bodies = "\(path)/\(Self.bodiesName)"
        temporary = "\(path)/\(Self.temporaryName)"
    }

    /// Makes the folders, and takes those within away from everybody else. A folder that was there
    /// already keeps its mode: it may be the user's home.
    ///
    /// - Returns: the same folder by a path without links.
    /// - Throws: `unavailable` where others could replace or write what is in it.
    @discardableResult
    func prepare() throws(StoreError) -> StoreFolder {
        let folder = try TrustedFolder.open(path, creates: true)
        for name in [Self.bodiesName, Self.temporaryName] { _ = try folder.made(name, creates: true) }
        return folder.path == path ? self : StoreFolder(folder.path)
    }

    private func opened() throws(StoreError) -> TrustedFolder { try TrustedFolder.open(path, creates: false) }

    // MARK: The database

    /// Makes the database's file, empty, so that it and what SQLite puts beside it belong to the
    /// owner alone. One that is there has to be the owner's, with all that belongs to it: SQLite
    /// would read what others left for it.
    ///
    /// It appears under its name complete and closed: closing a descriptor of a database drops this
    /// process's locks on it (https://sqlite.org/howtocorrupt.html, section 2.2).
    func makeDatabaseFile() throws(StoreError) {
        let folder = try opened()
        for suffix in Self.databaseSuffixes { try folder.check(Self.databaseName + suffix) }
        guard folder.status(of: Self.databaseName) == nil else { return }
        let temporary = try folder.made(Self.temporaryName, creates: true)
        let name = Files.randomName()
        close(try temporary.create(name))
        defer { temporary.remove(name) }
        _ = try temporary.link(name, to: folder, as: Self.databaseName)
    }

    private static let databaseSuffixes = ["", "-wal", "-shm", "-journal"]

    /// Removes the database and every complete body. Nobody else may have it open.
    func removeDatabase() throws(StoreError) {
        let folder = try opened()
        for suffix in Self.databaseSuffixes {
            let code = folder.remove(Self.databaseName + suffix)
            guard code == 0 else { throw StoreError(call: "unlink", path: database + suffix, errno: code) }
        }
        for part in parts() { for name in part.names() { part.remove(name) } }
    }

    // MARK: Bodies that are not complete

    func makeTemporaryFile() throws(StoreError) -> TemporaryFile {
        do throws(StoreError) {
            return try newTemporaryFile()
        } catch  where error.code == .missing {
            // The folder was removed meanwhile.
            openTemporary.state.withLock { $0.folder = nil }
            try prepare()
            return try newTemporaryFile()
        }
    }

    private func newTemporaryFile() throws(StoreError) -> TemporaryFile {
        let folder = try temporaryFolder()
        let name = Files.randomName()
        return TemporaryFile(folder: folder, name: name, descriptor: try folder.create(name))
    }

    /// One descriptor for all bodies that are being written: each of them can then be removed also
    /// where the process can have no other.
    private func temporaryFolder() throws(StoreError) -> TrustedFolder {
        if let open = openTemporary.state.withLock({ $0.folder }), open.isLinked { return open }
        let folder = try opened().made(Self.temporaryName, creates: false)
        openTemporary.state.withLock { $0.folder = folder }
        return folder
    }

    private final class OpenTemporary: Sendable {
        struct State {
            weak var folder: TrustedFolder?
        }

        let state = Lock(State())
    }

    /// Removes temporary files that are as old as `age`, or younger than now. In seconds.
    func sweepTemporaries(olderThan age: Int, now: Int) {
        guard let folder = try? opened().made(Self.temporaryName, creates: false) else { return }
        for name in folder.names() {
            guard let status = folder.status(of: name), now - status.modified >= age || status.modified > now + 60 else { continue }
            folder.remove(name)
        }
    }

    // MARK: Bodies

    /// The place of a body, whatever a damaged row says its name is: never outside the folder.
    func bodyPath(_ name: String) -> String? { Self.isBodyName(name) ? "\(bodies)/\(name.prefix(2))/\(name)" : nil }

    private static func isBodyName(_ name: String) -> Bool {
        name.utf8.count == 32 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// Moves a complete body to its place.
    ///
    /// - Returns: its name.
    func adopt(_ file: TemporaryFile) throws(StoreError) -> String {
        let name = Files.randomName()
        // Young for whoever sweeps before the row is there, however long the body has waited.
        file.folder.touch(file.name)
        let bodies = try opened().made(Self.bodiesName, creates: true)
        try file.folder.move(file.name, to: bodies.made(String(name.prefix(2)), creates: true), as: name)
        return name
    }

    func removeBodies(_ names: [String]) {
        guard !names.isEmpty, let bodies = try? opened().made(Self.bodiesName, creates: false) else { return }
        for (part, names) in Dictionary(grouping: names.filter(Self.isBodyName), by: { $0.prefix(2) }) {
            guard let part = try? bodies.made(String(part), creates: false) else { continue }
            for name in names { part.remove(name) }
        }
    }

    /// Removes bodies that no row names, once they are as old as `age`. In seconds.
    func sweepBodies(except named: Set<String>, olderThan age: Int, now: Int) {
        for part in parts() {
            for name in part.names() where !named.contains(name) {
                if let status = part.status(of: name), now - status.modified >= age { part.remove(name) }
            }
        }
    }

    /// The folders of bodies, without anything that is none.
    private func parts() -> [TrustedFolder] {
        guard let bodies = try? opened().made(Self.bodiesName, creates: false) else { return [] }
        return bodies.names().compactMap { try? bodies.made($0, creates: false) }
    }
}
