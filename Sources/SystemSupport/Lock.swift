public import Glibc

/// A `pthread` mutex around a value: the one kind of lock in this package.
///
/// `Synchronization.Mutex` hands over directly through a priority-inheritance futex and collapses when threads outnumber
/// cores (measured: 3 µs an operation against 40 ns), and its slow path is invisible to the thread sanitizer. A critical
/// section only swaps values or asks the kernel: no callback, observer, curl, SQLite or file call, and no last release of a
/// caller's object.
///
/// A closure that is read more than once is a field of a struct, and not itself the value: passed `inout` to a generic function, a function type is
/// wrapped once for the way in and once for the way back each time, and after some thousand times a call or its release overflows the stack.
///
/// All of it is inlinable, `deinit` too: without the body, another module would call the generic code and build the metadata that takes.
@frozen
@usableFromInline
package struct Lock<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    // Safety: the value is reached only inside `withLock`, which holds the mutex that lives beside it; both are created in `init` and
    // destroyed in `deinit`, when no other reference exists (the type is not copyable). A value that is not Sendable enters by
    // `sending` and is never handed out by reference.
    @usableFromInline
    @frozen
    package struct Cell: ~Copyable {
        @usableFromInline package var mutex = pthread_mutex_t()
        @usableFromInline package var value: Value

        @inlinable
        package init(value: consuming Value) { self.value = value }
    }
    @usableFromInline package let cell: UnsafeMutablePointer<Cell>

    /// Makes a lock that is free.
    @inlinable
    package init(_ value: consuming sending Value) {
        cell = .allocate(capacity: 1)
        cell.initialize(to: Cell(value: value))
        pthread_mutex_init(&cell.pointee.mutex, nil)
    }

    @inlinable
    deinit {
        pthread_mutex_destroy(&cell.pointee.mutex)
        cell.deinitialize(count: 1)
        cell.deallocate()
    }

    /// Runs `body` with the value while no other thread has it. A call inside `body` for the same lock never returns.
    @inlinable
    @inline(__always)
    package borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(&cell.pointee.mutex)
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return try body(&cell.pointee.value)
    }

    /// The same, or nil when a thread holds the lock. Tests use it to show that no user code runs under a lock.
    @inlinable
    package borrowing func withLockIfAvailable<Result>(_ body: (inout Value) -> Result) -> Result? {
        guard pthread_mutex_trylock(&cell.pointee.mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(&cell.pointee.mutex) }
        return body(&cell.pointee.value)
    }
}
