import CStore
import FoundationEssentials
import Glibc
import SystemSupport

/// Tells when memory becomes short, so that stores can let go of theirs.
///
/// It listens where the service manager says so (`$MEMORY_PRESSURE_WATCH` and `$MEMORY_PRESSURE_WRITE`,
/// https://systemd.io/MEMORY_PRESSURE), else to the process's own control group, else to the whole machine
/// (https://docs.kernel.org/accounting/psi.html). The kernel wakes it; it never polls. `/dev/null` in `$MEMORY_PRESSURE_WATCH` turns it off.
public final class MemoryPressureMonitor: Sendable {
    /// Where it listens.
    public enum Source: Sendable, Hashable {
        /// As the service manager said.
        case serviceManager(path: String)
        /// The process's own control group (version 2).
        case controlGroup(path: String)
        /// The whole machine, `/proc/pressure/memory`.
        case machine
    }

    /// The source that was chosen when this was made.
    public let source: Source
    private let run: Run

    /// - Parameters:
    ///   - environment: where to look for the service manager's word; the process's own when nil.
    ///   - onPressure: called on a thread of the monitor, at most once in two seconds; be brief.
    /// - Throws: `unavailable` when the service manager turned it off, or the kernel does not tell this process.
    public convenience init(
        environment: [String: String]? = nil, onPressure: @escaping @Sendable () -> Void
    ) throws(StoreError) {
        try self.init(environment: environment ?? Self.processEnvironment, roots: .system, onPressure)
    }

    /// Relieves the stores whenever memory is short. Holds them weakly.
    ///
    /// - Parameters:
    ///   - stores: those to relieve.
    ///   - environment: where to look for the service manager's word; the process's own when nil.
    /// - Throws: as ``init(environment:onPressure:)``.
    public convenience init(relieving stores: [Store], environment: [String: String]? = nil) throws(StoreError) {
        let engines = stores.map { WeakStore($0) }
        try self.init(environment: environment) {
            for engine in engines {
                guard let store = engine.store else { continue }
                Task { await store.relieveMemory() }
            }
        }
    }

    init(environment: [String: String], roots: MemoryPressurePlan.Roots, _ onPressure: @escaping @Sendable () -> Void) throws(StoreError) {
        let plans = MemoryPressurePlan.plans(environment: environment, controlGroups: Self.text(at: roots.membership), roots: roots)
        guard !plans.isEmpty else { throw StoreError(.unavailable, "the service manager turned memory pressure off") }
        var failure = StoreError(.unavailable, "the kernel does not tell of memory pressure")
        for plan in plans {
            do throws(StoreError) {
                let listener = try Self.listen(plan)
                let bell = cstore_eventfd()
                guard bell >= 0 else {
                    close(listener.descriptor)
                    throw StoreError(call: "eventfd", path: "", errno: errno)
                }
                let run = Run(listener, bell: bell, onPressure)
                guard SystemThread.make("memory-pressure", { run.listen() }) else {
                    throw StoreError(.system, "the process can have no further thread")
                }
                self.run = run
                source = plan.source
                return
            } catch {
                failure = StoreError(.unavailable, error.message)
            }
        }
        throw failure
    }

    deinit { run.stop() }

    private static func listen(_ plan: MemoryPressurePlan) throws(StoreError) -> Listener {
        var status = stat()
        guard stat(plan.path, &status) == 0 else { throw StoreError(call: "stat", path: plan.path, errno: errno) }
        let kind = status.st_mode & S_IFMT
        let descriptor: Int32
        switch kind {
        case S_IFSOCK: descriptor = cstore_connect(plan.path)
        // Open for writing as well: a pipe nobody else writes to would be at its end for ever, and poll would not wait.
        default: descriptor = open(plan.path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        }
        guard descriptor >= 0 else { throw StoreError(call: "open", path: plan.path, errno: errno) }
        if !plan.write.isEmpty {
            let written = plan.write.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard written == plan.write.count else {
                let code = errno
                close(descriptor)
                throw StoreError(call: "write", path: plan.path, errno: code)
            }
        }
        return Listener(descriptor: descriptor, isKernelFile: kind == S_IFREG)
    }

    private static func text(at path: String) -> String {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static var processEnvironment: [String: String] {
        var result: [String: String] = [:]
        for name in ["MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"] {
            if let value = getenv(name) { result[name] = String(cString: value) }
        }
        return result
    }

    private struct WeakStore: Sendable {
        weak let store: Store?
        init(_ store: Store) { self.store = store }
    }

    private struct Listener: Sendable {
        let descriptor: Int32
        /// Urgent data tells, and there is nothing to read; else whatever comes tells, and is read away.
        let isKernelFile: Bool
    }

    private final class Run: Sendable {
        private let listener: Listener
        private let bell: Int32
        private let onPressure: @Sendable () -> Void

        init(_ listener: Listener, bell: Int32, _ onPressure: @escaping @Sendable () -> Void) {
            self.listener = listener
            self.bell = bell
            self.onPressure = onPressure
        }

        deinit {
            close(listener.descriptor)
            close(bell)
        }

        func listen() {
            let wanted = Int16(listener.isKernelFile ? POLLPRI : POLLIN)
            var descriptors = [
                pollfd(fd: listener.descriptor, events: wanted, revents: 0), pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
            ]
            while true {
                if poll(&descriptors, 2, -1) < 0 {
                    if errno == EINTR { continue }
                    return
                }
                if descriptors[1].revents != 0 { return }
                let events = descriptors[0].revents
                // The control group is gone, or whoever wrote: nobody will tell any more.
                if events & wanted == 0 || !(listener.isKernelFile || drain()) { return }
                onPressure()
                if pause() { return }
            }
        }

        func stop() {
            var one: UInt64 = 1
            write(bell, &one, 8)
        }

        /// - Returns: false at the end.
        private func drain() -> Bool {
            var buffer = [UInt8](repeating: 0, count: 4096)
            var total = 0
            while true {
                let count = read(listener.descriptor, &buffer, buffer.count)
                if count <= 0 { return total > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) }
                total += count
                if count < buffer.count { return true }
            }
        }

        /// Two seconds in which nobody is told again, as relief takes time.
        /// - Returns: true when it is the end.
        private func pause() -> Bool {
            var bell = pollfd(fd: bell, events: Int16(POLLIN), revents: 0)
            return poll(&bell, 1, 2000) > 0
        }
    }
}
