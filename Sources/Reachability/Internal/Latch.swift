import Glibc

/// Opens once; who waits goes on then.
final class Latch: @unchecked Sendable {
    // Safety: the semaphore lives at a fixed place from init to deinit, and its operations are safe from any thread.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func open() { sem_post(semaphore) }

    func wait() {
        while sem_wait(semaphore) != 0, errno == EINTR {}
        sem_post(semaphore)
    }
}
