import FoundationEssentials
import Glibc

/// Where the files of a store are, and their making and removing.
///
/// ```
/// store-1.sqlite, -wal, -shm   the database
/// store-1.lock                 held by every user
/// bodies-1/xx/…                large bodies, by random names
/// tmp-1/…                      bodies that are not complete
/// ```
/// Folders and files made here are for the owner alone.
struct StoreFolder: Sendable {
    let path: String
    let database: String
    let lock: String
    let bodies: String
    let temporary: String

    init(_ path: String) {
        var path = path
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        self.path = path
        database = "\(path)/store-\(Schema.version).sqlite"
        lock = "\(path)/store-\(Schema.version).lock"
        bodies = "\(path)/bodies-\(Schema.version)"
        temporary = "\(path)/tmp-\(Schema.version)"
    }

    /// Makes the folders, and takes those within away from everybody else. A folder that was there already keeps its mode: it may be the
    /// user's home.
    func prepare() throws(StoreError) {
        try Files.makeFolder(path)
        for folder in [bodies, temporary] {
            try Files.makeFolder(folder)
            guard chmod(folder, 0o700) == 0 else { throw StoreError(call: "chmod", path: folder, errno: errno) }
        }
    }

    /// Makes the database's file, empty, so that it and what SQLite puts beside it belong to the owner alone.
    ///
    /// It appears under its name complete and closed: closing a descriptor of a database drops this process's locks on it
    /// (https://sqlite.org/howtocorrupt.html, section 2.2).
    func makeDatabaseFile() throws(StoreError) {
        guard Files.status(of: database) == nil else { return }
        let temporary = temporary + "/" + Files.randomName()
        close(try Files.create(temporary))
        defer { unlink(temporary) }
        if link(temporary, database) != 0 && errno != EEXIST { throw StoreError(call: "link", path: database, errno: errno) }
    }

    /// Removes the database and every complete body. Nobody else may have it open.
    func removeDatabase() throws(StoreError) {
        for suffix in ["", "-wal", "-shm", "-journal"] where unlink(database + suffix) != 0 && errno != ENOENT {
            throw StoreError(call: "unlink", path: database + suffix, errno: errno)
        }
        for folder in Files.names(in: bodies) {
            for name in Files.names(in: "\(bodies)/\(folder)") { unlink("\(bodies)/\(folder)/\(name)") }
        }
    }

    func makeTemporaryFile() throws(StoreError) -> BodyWriter.TemporaryFile {
        let path = temporary + "/" + Files.randomName()
        do throws(StoreError) {
            return BodyWriter.TemporaryFile(path: path, descriptor: try Files.create(path))
        } catch  where error.code == .missing {
            // Somebody removed the folder meanwhile.
            try prepare()
            return BodyWriter.TemporaryFile(path: path, descriptor: try Files.create(path))
        }
    }

    // MARK: Bodies

    /// The place of a body, whatever a damaged row says its name is: never outside the folder.
    func bodyPath(_ name: String) -> String? {
        guard name.utf8.count == 32, name.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
        return "\(bodies)/\(name.prefix(2))/\(name)"
    }

    /// Moves a complete body to its place.
    /// - Returns: its name.
    func adopt(_ temporary: String) throws(StoreError) -> String {
        let name = Files.randomName()
        let folder = "\(bodies)/\(name.prefix(2))"
        // Young for whoever sweeps before the row is there, however long the body has waited.
        utimes(temporary, nil)
        do throws(StoreError) {
            try Files.rename(temporary, to: "\(folder)/\(name)")
        } catch  where error.code == .missing {
            try Files.makeFolder(folder)
            try Files.rename(temporary, to: "\(folder)/\(name)")
        }
        return name
    }

    func removeBody(_ name: String) {
        if let path = bodyPath(name) { unlink(path) }
    }
}
