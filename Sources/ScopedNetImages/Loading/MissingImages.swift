import ScopedNet
import SystemSupport

/// The pictures that a server does not have (404 and 410), for a while: a list that scrolls to and fro does not ask for them each time.
final class MissingImages: Sendable {
    private struct Miss: Sendable {
        let error: NetworkError
        let until: ContinuousClock.Instant
    }

    private let list = Lock(RecencyList<ImageTransferKey, Miss>())
    private let age: Duration?

    /// - Parameter age: nil to remember none.
    init(age: Duration?) { self.age = age }

    func error(for key: ImageTransferKey) -> NetworkError? {
        guard age != nil, let miss = list.withLock({ $0.use(key) }) else { return nil }
        guard miss.until > .now else {
            remove(key)
            return nil
        }
        return miss.error
    }

    func note(_ error: NetworkError, for key: ImageTransferKey) {
        guard let age, error.status == 404 || error.status == 410 else { return }
        let gone = list.withLock { list -> [Miss] in
            let old = list.put(Miss(error: error, until: .now + age), cost: 1, for: key)
            return (old.map { [$0] } ?? []) + list.trim(to: 10_000)
        }
        _ = gone
    }

    func remove(_ key: ImageTransferKey) { if age != nil { _ = list.withLock { $0.remove(key) } } }
    func removeAll() { _ = list.withLock { $0.trim(to: 0) } }
}
