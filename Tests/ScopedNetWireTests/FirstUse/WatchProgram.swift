import Logging
import ScopedNet
import ScopedNetService
import ServiceLifecycle
import UnixSignals

/// A daemon that asks an upstream for its health, written by a newcomer from the documents alone. ``FirstUseTests`` runs it.
enum WatchProgram {
    struct Health: Decodable, Sendable { let healthy: Bool }

    /// The job: it polls until the daemon is told to end; the answer under way may come, the pause may not.
    struct Job: Service {
        let session: Session
        let pause: Duration
        let logger: Logger
        let report: @Sendable (Result<Bool, NetworkError>) -> Void

        func run() async throws {
            while !Task.isShuttingDownGracefully {
                do throws(NetworkError) {
                    let health = try await session.get("health", headers: ["Accept-Language": "en"], as: Health.self)
                        .timeout(.seconds(5)).retry(RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1)))
                        .value()
                    report(.success(health.healthy))
                } catch {
                    if error.isCancelled { break }
                    if error.isServerUnreachable { logger.error("the upstream is away: \(error)") } else { logger.warning("\(error)") }
                    report(.failure(error))
                }
                _ = await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
            }
        }
    }

    /// Writes the figures of the session into the log when the job has ended.
    struct Figures: Service {
        let session: Session
        let logger: Logger

        func run() async throws {
            try await gracefulShutdown()
            logger.info("\(session.statistics)")
        }
    }

    /// The session of the daemon: it logs.
    static func session(_ url: String, logger: Logger) -> Session {
        Session(url).with { $0.observers.append(LoggingObserver(logger)) }
    }

    /// The daemon: at SIGTERM the job ends, then its figures are written, and the session lets its last request finish.
    static func group(_ session: Session, _ job: Job, logger: Logger) -> ServiceGroup {
        ServiceGroup(
            services: [SessionService(session, ending: .drain(atMost: .seconds(5))), Figures(session: session, logger: logger), job],
            gracefulShutdownSignals: [.sigterm], logger: logger)
    }
}
