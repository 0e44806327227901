import SystemSupport

@testable import ScopedNet

/// A number several threads count.
final class Counter: Sendable {
    private let count = Lock(0)
    var value: Int { count.withLock { $0 } }
    func add(_ amount: Int = 1) { count.withLock { $0 += amount } }
    func set(_ amount: Int) { count.withLock { $0 = amount } }
}
