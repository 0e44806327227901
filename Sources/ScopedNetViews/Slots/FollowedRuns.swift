import ScopedNet
import ScopedNetImages
import SystemSupport

/// The runs whose errors a view waits for.
final class FollowedRuns: Cancellable {
    private let followed = Lock<[UInt64: FollowedRun]>([:])

    /// Calls `fail` on the main actor when the run fails. Main actor.
    @MainActor func add(_ run: Run, fail: @escaping @MainActor @Sendable (NetworkError) -> Void) {
        guard followed.withLock({ $0[run.id] }) == nil else { return }
        let id = run.id
        let follower = FollowedRun.follow(run) { [weak self] update in
            guard case .ended(let error) = update, let self else { return }
            _ = self.followed.withLock { $0.removeValue(forKey: id) }
            if let error { fail(error) }
        }
        followed.withLock { $0[id] = follower }
    }

    func cancel() {
        let all = followed.withLock { followed in
            defer { followed = [:] }
            return followed
        }
        for follower in all.values { follower.cancel() }
    }
}

extension Error {
    /// True for the end of something on purpose, of which there is nothing to tell a person.
    var isCancellation: Bool {
        switch self {
        case let error as NetworkError: error.isCancelled
        case let error as ImageLoadError: error.isCancelled
        default: self is CancellationError
        }
    }
}
