import CStore
import Glibc

/// The database of a store, if it is there: on its way, open, absent or closed. Changed by the writer thread only.
final class DatabaseHandle: @unchecked Sendable {
    // Safety: `state` and `knownTotals` are reached with `mutex` held only.
    enum State {
        case opening
        case open(StoreDatabase, LockFile)
        /// Worth another try from this moment on.
        case none(reason: String, retry: Duration)
        case closed
    }

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state = State.opening
    private var knownTotals = StoreTotals()

    init() {
        mutex = .allocate(capacity: 1)
        condition = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// - Returns: the former state, to be let go of by the caller.
    @discardableResult
    func change(to new: State) -> State {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        let former = state
        state = new
        pthread_cond_broadcast(condition)
        return former
    }

    /// The database, if it is there now.
    var current: StoreDatabase? {
        if case .open(let database, _) = snapshot { return database }
        return nil
    }

    var snapshot: State {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return state
    }

    /// Waits while the database is being opened. Not for the writer thread, which opens it.
    func wait() -> StoreDatabase? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            switch state {
            case .opening: pthread_cond_wait(condition, mutex)
            case .open(let database, _): return database
            case .none, .closed: return nil
            }
        }
    }

    /// The totals of the store as the database said last.
    var totals: StoreTotals {
        get {
            pthread_mutex_lock(mutex)
            defer { pthread_mutex_unlock(mutex) }
            return knownTotals
        }
        set {
            pthread_mutex_lock(mutex)
            knownTotals = newValue
            pthread_mutex_unlock(mutex)
        }
    }

    /// - Returns: true when another try is due; the caller that is told makes it.
    func takeRetry(at now: Duration) -> Bool {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard case .none(let reason, let retry) = state, retry <= now else { return false }
        state = .none(reason: reason, retry: now + .seconds(3600))
        return true
    }

    var storeCondition: StoreCondition {
        switch snapshot {
        case .opening: .opening
        case .open: .open
        case .none(let reason, _): .memoryOnly(reason: reason)
        case .closed: .closed
        }
    }

    /// The reason why a call that needs the database cannot have it.
    var unavailable: StoreError {
        switch storeCondition {
        case .memoryOnly(let reason): StoreError(.unavailable, reason)
        case .closed: StoreError(.closed, "the store is closed")
        case .opening: StoreError(.unavailable, "the store is being opened")
        case .open: StoreError(.unavailable, DatabaseFailure.busy.reason)
        }
    }
}
