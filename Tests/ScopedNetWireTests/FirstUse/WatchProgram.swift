import Logging
import ScopedNet
import ScopedNetService
import ServiceLifecycle
import Synchronization
import UnixSignals

/// A daemon that asks an upstream for its health, written by a newcomer from the documents alone. ``FirstUseTests`` runs it.
enum WatchProgram {
    struct Health: Decodable, Sendable { let healthy: Bool }

    /// The figures that the daemon publishes.
    final class Statistics: RequestObserver {
        struct Figures: Sendable {
            var requests = 0
            var failures = 0
            var retries = 0
            var bytes = 0
            var longest: Duration = .zero
        }

        private let figures = Mutex(Figures())
        var current: Figures { figures.withLock { $0 } }

        func observe(_ event: RequestEvent) {
            figures.withLock { figures in
                switch event.kind {
                case .started(attempt: 2...): figures.retries += 1
                case .finished(let completion):
                    figures.requests += 1
                    if completion.error != nil { figures.failures += 1 }
                    figures.bytes += completion.bodyBytes
                    figures.longest = max(figures.longest, completion.duration)
                default: break
                }
            }
        }
    }

    /// The job: it polls until the daemon is told to end; the answer under way may come, the pause may not.
    struct Job: Service {
        let session: Session
        let pause: Duration
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
                    report(.failure(error))
                }
                _ = await cancelWhenGracefulShutdown { try? await Task.sleep(for: pause) }
            }
        }
    }

    /// The session of the daemon: it logs, and counts.
    static func session(_ url: String, statistics: Statistics, logger: Logger) -> Session {
        Session(url).with { $0.observers += [LoggingObserver(logger), statistics] }
    }

    /// The daemon: at SIGTERM the job ends, and the session lets its last request finish.
    static func group(_ session: Session, _ job: Job, logger: Logger) -> ServiceGroup {
        ServiceGroup(
            services: [SessionService(session, ending: .drain(atMost: .seconds(5))), job],
            gracefulShutdownSignals: [.sigterm], logger: logger)
    }
}
