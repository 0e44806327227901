import SystemSupport

/// A question to the program, put once.
///
/// Whoever passes it on holds no closure of the program: that is let go with the answer, before the run goes on, and so before its end (G6). A thread
/// that put the question may still be on its way back when the run is over.
final class HookQuestion<Answer: Sendable>: Sendable {
    private let put: Lock<(@Sendable () async -> Answer)?>

    init(_ put: @escaping @Sendable () async -> Answer) { self.put = Lock(put) }

    /// Nil where it was put before.
    func answer() async -> Answer? {
        let put = take()
        return await put?()
    }

    /// It will not be put any more. What it holds is let go here.
    func drop() { _ = take() }

    private func take() -> (@Sendable () async -> Answer)? {
        put.withLock { put in
            defer { put = nil }
            return put
        }
    }
}
