import FoundationEssentials
import Glibc

@testable import Persistence

/// Stands for a disk that does not answer: whoever seals or opens meanwhile waits until it goes on.
final class HungSealing: StoreSealing, @unchecked Sendable {
    // Safety: `isHung` is reached with `mutex` held only.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t> = .allocate(capacity: 1)
    private let condition: UnsafeMutablePointer<pthread_cond_t> = .allocate(capacity: 1)
    private var isHung = false

    init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func hang() { set(true) }
    func goOn() { set(false) }

    private func set(_ value: Bool) {
        pthread_mutex_lock(mutex)
        isHung = value
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    private func wait() {
        pthread_mutex_lock(mutex)
        while isHung { pthread_cond_wait(condition, mutex) }
        pthread_mutex_unlock(mutex)
    }

    var overhead: Int { 1 }

    func seal(_ text: Data, context: Data) throws(StoreError) -> Data {
        wait()
        return text + [0]
    }

    func open(_ sealed: Data, context: Data) throws(StoreError) -> Data {
        wait()
        return sealed.dropLast()
    }

    func hash(_ text: Data) -> Data {
        withUnsafeBytes(of: text.withUnsafeBytes { XXHash64.hash($0, seed: 1) }) { Data($0) + Data($0) }
    }
}
