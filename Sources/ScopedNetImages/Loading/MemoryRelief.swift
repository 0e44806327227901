import Persistence

/// Lets go of memory when the machine is short of it; where nothing tells, it does nothing.
final class MemoryRelief: Sendable {
    private let monitor: MemoryPressureMonitor?

    /// Listens where `environment` says; where the process's own does when it is nil.
    init(environment: [String: String]? = nil, _ relieve: @escaping @Sendable () -> Void) {
        monitor = try? MemoryPressureMonitor(environment: environment, onPressure: relieve)
    }
}
