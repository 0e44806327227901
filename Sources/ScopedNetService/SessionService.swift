#if ServiceLifecycle
public import ScopedNet
public import ServiceLifecycle

/// A ``Session`` as a service: it does nothing until the shutdown, and then sees to it that no request is left, nor the session's thread and
/// sockets.
///
/// Put it first in its `ServiceGroup`: services are shut down in reverse order, so those that make requests are gone when it drains. A request
/// that one of them awaits hears of the shutdown together with that service: it may finish within the limit, which begins there and is one for
/// all, and then ends with `shutdown`. So no request holds up the group for longer, wherever this service stands.
///
/// The shutdown concerns every session that shares this one's connections; later starts end with `shutdown`.
public struct SessionService: Service {
    /// What becomes of the requests that run when the shutdown begins.
    public struct Ending: Sendable, Hashable {
        enum Kind: Sendable, Hashable { case cancel, drain(Duration?) }
        let kind: Kind

        /// They are cancelled with the reason `shutdown`.
        public static let cancel = Ending(kind: .cancel)

        /// They may finish, their retries included; what still runs after `limit` is cancelled with the reason `shutdown`. Nil waits for as
        /// long as it takes, or until the service's task is cancelled.
        public static func drain(atMost limit: Duration? = .seconds(30)) -> Ending { Ending(kind: .drain(limit)) }
    }

    /// The session that is shut down.
    public let session: Session
    private let ending: Ending
    private let drainLimit: DrainLimit

    /// Makes a service of a session. Running requests are cancelled at the shutdown unless `ending` says otherwise.
    public init(_ session: Session, ending: Ending = .cancel) {
        self.session = session
        self.ending = ending
        drainLimit = DrainLimit(ending, session)
        // Services run side by side: the first request of another may be awaited before `run()` is called.
        session.link.shutdownListener = drainLimit
    }

    /// Returns when requests, thread and sockets are gone, after a graceful shutdown or a cancellation of the task. A cancellation cancels the
    /// requests whatever the ending says, also in the middle of draining.
    public func run() async throws {
        do { try await gracefulShutdown() } catch {
            await session.shutdown(cancelling: true)
            return
        }
        switch ending.kind {
        case .cancel: await session.shutdown(cancelling: true)
        case .drain: await drain(atMost: drainLimit.timeLeft())
        }
    }

    private func drain(atMost limit: Duration?) async {
        let session = session
        await withTaskCancellationHandler {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await session.shutdown(cancelling: false) }
                if let limit {
                    group.addTask {
                        do { try await Task.sleep(for: limit) } catch { return }
                        await session.shutdown(cancelling: true)
                    }
                }
                await group.next()
                group.cancelAll()
            }
        } onCancel: {
            Task { await session.shutdown(cancelling: true) }
        }
    }
}
#endif
