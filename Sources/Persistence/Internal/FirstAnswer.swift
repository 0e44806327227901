import SystemSupport

/// The first of several answers; later ones are dropped.
final class FirstAnswer<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, Never>)
        case given(Value)
    }

    private let state = Lock(State.open)

    /// - Returns: whether it was the first.
    @discardableResult
    func give(_ value: Value) -> Bool {
        let (isFirst, waiting): (Bool, CheckedContinuation<Value, Never>?) = state.withLock { state in
            switch state {
            case .open:
                state = .given(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .given(value)
                return (true, continuation)
            case .given:
                return (false, nil)
            }
        }
        waiting?.resume(returning: value)
        return isFirst
    }

    /// Nil as long as there is none.
    var given: Value? {
        state.withLock { state in
            if case .given(let value) = state { return value }
            return nil
        }
    }

    /// For one reader, once.
    var value: Value {
        get async {
            await withCheckedContinuation { continuation in
                let given: Value? = state.withLock { state in
                    if case .given(let value) = state { return value }
                    state = .awaited(continuation)
                    return nil
                }
                if let given { continuation.resume(returning: given) }
            }
        }
    }
}
