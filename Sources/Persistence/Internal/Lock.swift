import CStore
import Glibc

/// The one lock of this module: a `pthread` mutex around a value.
///
/// `Synchronization.Mutex` hands over directly through a priority-inheritance futex and collapses when threads outnumber
/// cores, and its slow path is invisible to the thread sanitizer. A critical section here only swaps values: no SQLite or file call, no
/// call of user code, and no last release of a caller's object.
struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Safety: the value is reached only inside `withLock`, which holds the mutex that lives beside it; both are created in `init` and
    // destroyed in `deinit`, when no other reference exists (the type is not copyable). A value that is not Sendable enters by
    // `sending` and is never handed out by reference.
    private struct Cell: ~Copyable {
        var mutex = pthread_mutex_t()
        var value: Value
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

    @inline(__always)
    borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(&cell.pointee.mutex)
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return try body(&cell.pointee.value)
    }
}
