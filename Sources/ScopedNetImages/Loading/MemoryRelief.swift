import Persistence

/// Empties a memory of pictures when the machine is short of it; where nothing tells, it does nothing.
final class MemoryRelief: Sendable {
    private let monitor: MemoryPressureMonitor?

    /// Listens where `environment` says; where the process's own does when it is nil.
    init(_ memory: ImageMemoryCache, environment: [String: String]? = nil) {
        monitor = try? MemoryPressureMonitor(environment: environment) { [weak memory] in memory?.removeAll() }
    }
}
