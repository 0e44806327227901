import GRDB
import SystemSupport

/// The connection by which a store learns what other processes commit to its database. In shared mode only.
final class CommitWatcher: Sendable {
    private struct Watched {
        /// As of `PRAGMA data_version`, of the watching connection.
        var dataVersion: Int64?
        var isClosed = false
        /// Nil before the first catch-up, and once the connections are closed.
        var index: WriteAheadIndex?
        /// As it was before the last catch-up began, which has therefore seen all that was committed by then.
        var header: WriteAheadIndex.Header?
    }

    private let connection: DatabaseQueue
    private let log: ChangeLog
    private let watched = Lock(Watched())

    /// Takes over a connection that nobody else uses.
    init(_ connection: DatabaseQueue, _ log: ChangeLog) {
        self.connection = connection
        self.log = log
    }

    /// Tells `apply` what other processes changed since the position it was told last. Microseconds when nothing did.
    ///
    /// When this returns, everything that was committed before the call has been applied, by this thread or another: `apply` runs while the
    /// watching connection is held. It gets nil for the changes when the log does not reach back far enough.
    func catchUp(from position: () -> Int64, apply: ([ForeignChange]?, Int64) -> Void) throws(DatabaseFailure) {
        do {
            try connection.unsafeRead { database in
                let header = watched.withLock { $0.index?.header() }
                let version = try database.integer("PRAGMA data_version")
                if watched.withLock({ $0.dataVersion }) != version {
                    let news = try log.changes(after: position(), in: database)
                    apply(news.changes, news.position)
                }
                let index = watched.withLock { $0.index } ?? WriteAheadIndex(of: database)
                watched.withLock { watched in
                    guard !watched.isClosed else { return }
                    watched.dataVersion = version
                    watched.index = index
                    watched.header = header
                }
            }
        } catch {
            throw DatabaseFailure(error)
        }
    }

    /// True if nothing was committed since the last catch-up. Reads memory; calls neither SQLite nor the system.
    var isUnchanged: Bool {
        watched.withLock { watched in
            guard let last = watched.header, let index = watched.index else { return false }
            return index.header() == last
        }
    }

    /// Lets go of the memory behind the index, which goes with the last connection of the process. To be called before that is closed.
    func forget() { watched.withLock { ($0.isClosed, $0.index, $0.header) = (true, nil, nil) } }

    /// Closes the connection. Waits for a catch-up that is under way.
    func close() {
        forget()
        try? connection.close()
    }
}
