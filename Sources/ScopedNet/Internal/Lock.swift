import Glibc

/// The library's one lock: a `pthread` mutex around a value.
///
/// `Synchronization.Mutex` hands over directly through a priority-inheritance futex and collapses when threads outnumber
/// cores (measured: 3 µs an operation against 40 ns), and its slow path is invisible to the thread sanitizer. A critical
/// section here only swaps values: no callback, observer, curl or file call, and no last release of a caller's object.
///
/// A closure that is read more than once is a field of a struct, and not itself the value: passed `inout` to a generic function, a function type is
/// wrapped once for the way in and once for the way back each time, and after some thousand times a call or its release overflows the stack.
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Safety: the value is reached only inside `withLock`, which holds the mutex that lives beside it; both are created in `init` and
    // destroyed in `deinit`, when no other reference exists (the type is not copyable). A value that is not Sendable enters by
    // `sending` and is never handed out by reference.
    private struct Cell: ~Copyable {
        var mutex = pthread_mutex_t()
        var value: Value
    }
    private let cell: UnsafeMutablePointer<Cell>

    package init(_ value: consuming sending Value) {
        cell = .allocate(capacity: 1)
        cell.initialize(to: Cell(value: consume value))
        pthread_mutex_init(&cell.pointee.mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(&cell.pointee.mutex)
        cell.deinitialize(count: 1)
        cell.deallocate()
    }

    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(&cell.pointee.mutex)
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return try body(&cell.pointee.value)
    }

    /// Nil when somebody holds the lock. Tests use it to show that no user code runs under a lock.
    package borrowing func withLockIfAvailable<Result>(_ body: (inout Value) -> Result) -> Result? {
        guard pthread_mutex_trylock(&cell.pointee.mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return body(&cell.pointee.value)
    }
}
