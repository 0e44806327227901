import SystemSupport

@testable import ScopedNet

/// Collects values from callbacks on any thread.
final class Gathered<Value: Sendable>: Sendable {
    private let values = Lock<[Value]>([])
    func add(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}
