import SystemSupport

/// An accepted response whose body waits for an answer of the program: where that and the end of the transfer meet.
final class HeldResponse: Sendable {
    enum Verdict: Sendable {
        /// - file: the same as the place's, if that is a file.
        case place(BodyDestination, file: FileSink?)
        case fail(NetworkError)
    }

    private struct State {
        var verdict: Verdict?
        var then: (@Sendable (Verdict) -> Void)?
        var isOver = false
    }

    let body = HeldBody()
    /// False once the transfer has come to nothing: an answer reaches nobody.
    var isWanted: Bool { state.withLock { !$0.isOver } }
    private let state = Lock(State())

    /// Any thread, once. Of no effect when the transfer has come to nothing meanwhile.
    func settle(_ verdict: Verdict) {
        let (isOver, then) = state.withLock { state -> (Bool, (@Sendable (Verdict) -> Void)?) in
            guard !state.isOver else { return (true, nil) }
            state.verdict = verdict
            defer { state.then = nil }
            return (false, state.then)
        }
        guard !isOver else { return }
        if case .place(let place, _) = verdict { body.decide(place) }
        then?(verdict)
    }

    /// The transfer is complete.
    ///
    /// - Parameter then: called when there is a verdict, where there is none yet; once at most.
    /// - Returns: the verdict, if there is one.
    func verdict(orThen then: @escaping @Sendable (Verdict) -> Void) -> Verdict? {
        state.withLock { state in
            if state.verdict == nil { state.then = then }
            return state.verdict
        }
    }

    /// The transfer has failed, or nobody wants it any more. A later answer reaches nobody.
    ///
    /// - Returns: what was decided before.
    @discardableResult
    func giveUp() -> Verdict? {
        let (verdict, garbage) = state.withLock { state in
            state.isOver = true
            defer {
                state.verdict = nil
                state.then = nil
            }
            return (state.verdict, state.then)
        }
        _ = garbage
        return verdict
    }
}
