import Glibc

/// A `pthread` mutex around a value, as that of ScopedNet itself, which is no part of its public API.
///
/// `Synchronization.Mutex` collapses when threads outnumber cores, and the thread sanitizer does not see it. A critical section only swaps values: no
/// callback, and no last release of a caller's object.
struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Safety: the value is reached only inside `withLock`, which holds the mutex that lives beside it; both are created in `init` and destroyed in
    // `deinit`, when no other reference exists (the type is not copyable). A value that is not Sendable enters by `sending`.
    private struct Cell: ~Copyable {
        var mutex = pthread_mutex_t()
        var value: Value

        init(value: consuming Value) { self.value = value }
    }
    private let cell: UnsafeMutablePointer<Cell>

    init(_ value: consuming sending Value) {
        cell = .allocate(capacity: 1)
        cell.initialize(to: Cell(value: value))
        pthread_mutex_init(&cell.pointee.mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(&cell.pointee.mutex)
        cell.deinitialize(count: 1)
        cell.deallocate()
    }

    /// Runs `body` with the value while no other thread has it. A call inside `body` for the same lock never returns.
    borrowing func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(&cell.pointee.mutex)
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return try body(&cell.pointee.value)
    }
}
