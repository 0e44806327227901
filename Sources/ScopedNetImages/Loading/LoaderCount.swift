import ScopedNet
import SystemSupport

/// The loaders of each session. A second one is probably not meant: it fetches the files of the first one again, and a view that makes its own loader
/// each time shares nothing with the others, without a sign.
final class LoaderCount: Sendable {
    private static let counts = Lock<[ObjectIdentifier: Int]>([:])
    private let session: ObjectIdentifier

    /// Counts one more, and tells the session's observers where it is not the only one.
    init(_ session: Session) {
        let id = ObjectIdentifier(session)
        self.session = id
        let count = Self.counts.withLock { counts in
            counts[id, default: 0] += 1
            return counts[id] ?? 1
        }
        guard count == 2 else { return }
        let warning = SessionWarning(
            description: "this session has a second ImageLoader, which shares no transfers with the first: keep one for all views")
        for observer in session.configuration.observers { observer.observe(warning) }
    }

    deinit { Self.counts.withLock { $0[session] = ($0[session] ?? 1) > 1 ? ($0[session] ?? 1) - 1 : nil } }
}
