package import Reachability
import SystemSupport

/// The monitors behind ``Connectivity``: one for each target somebody waits for, all on one thread.
package final class PathWatch: ConnectivitySource {
    private struct Wait {
        /// None of these is known yet to be out of reach.
        var unknown: Set<NetworkPath.Target>
        let targets: [NetworkPath.Target]
        var notYet: (@Sendable () -> Void)?
        let action: @Sendable () -> Void
    }

    private struct Room {
        var monitor: ReachabilityMonitor?
        var subscription: ReachabilityMonitor.Subscription?
    }

    private struct State {
        var rooms: [NetworkPath.Target: Room] = [:]
        var waits: [UInt64: Wait] = [:]
        var watchers: [UInt64: @Sendable () -> Void] = [:]
        /// Since when nobody hears for them: how often a start has failed in a row, and the timer of the next.
        var failures = 0
        var retry: (any Cancellable)?

        func isWanted(_ target: NetworkPath.Target) -> Bool {
            target == .defaultPath && !watchers.isEmpty || waits.values.contains { $0.targets.contains(target) }
        }

        mutating func takeRetry() -> (any Cancellable)? {
            defer { retry = nil }
            return retry
        }

        /// The rooms nobody needs any more leave with the caller: what they hold is let go outside the lock.
        mutating func takeUnwanted() -> [Room] {
            let unwanted = rooms.keys.filter { !isWanted($0) }
            return unwanted.compactMap { rooms.removeValue(forKey: $0) }
        }
    }

    private let base: ReachabilityMonitor
    private let timing: any Timing
    private let state = Lock(State())

    package init(_ base: ReachabilityMonitor, timing: any Timing = SystemTiming()) {
        self.base = base
        self.timing = timing
    }

    deinit { state.withLock { $0.retry }?.cancel() }

    private final class Reference: Sendable {
        private let kept: Lock<Weak>
        private struct Weak { weak var watch: PathWatch? }
        init() { kept = Lock(Weak()) }
        var watch: PathWatch {
            let fresh = PathWatch(ReachabilityMonitor())
            return kept.withLock { kept in
                if let watch = kept.watch { return watch }
                kept.watch = fresh
                return fresh
            }
        }
    }

    private static let reference = Reference()

    /// The process's own; it lives as long as somebody has it.
    package static var shared: PathWatch { reference.watch }

    // MARK: Asking

    package func isSatisfied(_ targets: [NetworkPath.Target]) -> Bool? {
        let monitors = state.withLock { state in targets.map { state.rooms[$0]?.monitor } }
        let answers = monitors.map { $0?.currentPath?.isSatisfied }
        if answers.contains(true) { return true }
        return answers.contains(nil) ? nil : false
    }

    package func wait(
        for targets: [NetworkPath.Target], notYet: (@Sendable () -> Void)?, _ action: @escaping @Sendable () -> Void
    ) -> any Cancellable {
        let id = Identifier.next()
        let wait = Wait(unknown: Set(targets), targets: targets, notYet: notYet, action: action)
        let (fresh, known) = state.withLock { state -> ([NetworkPath.Target], [(NetworkPath.Target, ReachabilityMonitor)]) in
            state.waits[id] = wait
            let fresh = targets.filter { state.rooms[$0] == nil }
            for target in fresh { state.rooms[target] = Room() }
            return (fresh, targets.compactMap { target in state.rooms[target]?.monitor.map { (target, $0) } })
        }
        WorkPool.shared.submit([
            { [weak self] in
                fresh.forEach { self?.open($0) }
                // These had their say before somebody waited.
                for (target, monitor) in known { if let path = monitor.currentPath { self?.found(path, target) } }
            }
        ])
        return AnyCancellable { [weak self] in self?.forget(id) }
    }

    package func watch(_ action: @escaping @Sendable () -> Void) -> any Cancellable {
        let id = Identifier.next()
        state.withLock { $0.watchers[id] = action }
        openForWatchers()
        return AnyCancellable { [weak self] in self?.forget(id) }
    }

    private func openForWatchers() {
        let isFresh = state.withLock { state in
            guard !state.watchers.isEmpty, state.rooms[.defaultPath] == nil else { return false }
            state.rooms[.defaultPath] = Room()
            return true
        }
        if isFresh { WorkPool.shared.submit([{ [weak self] in self?.open(.defaultPath) }]) }
    }

    private func forget(_ id: UInt64) {
        let (gone, retry) = state.withLock { state in
            let gone = (state.waits.removeValue(forKey: id), state.watchers.removeValue(forKey: id), state.takeUnwanted())
            return (gone, state.watchers.isEmpty ? state.takeRetry() : nil)
        }
        retry?.cancel()
        // What they hold is let go outside the lock.
        withExtendedLifetime(gone) {}
    }

    // MARK: Hearing

    /// On a work thread: starting asks the kernel.
    private func open(_ target: NetworkPath.Target) {
        let monitor = base.plainMonitor(for: target)
        do { try monitor.start() } catch {
            // The next who asks tries again; those who watch ask but once, so a timer does it for them.
            let failed = state.withLock { $0.rooms.removeValue(forKey: target) }
            withExtendedLifetime(failed) {}
            if target == .defaultPath { retryForWatchers() }
            // No descriptor or thread is left: nobody can tell, and a request that goes out will say what is wrong.
            return reached(target)
        }
        let known = monitor.currentPath
        let subscription = monitor.observe { [weak self] path, delta in
            self?.found(path, target)
            guard target == .defaultPath else { return }
            // The first one told may be a later one than this began with.
            let change = delta.contains(.first) ? known.map { path.delta(from: $0) } : delta
            if change?.breaksConnections == true { self?.tellWatchers() }
        }
        // Whatever room this one replaces is let go outside the lock.
        let former = state.withLock { state -> Room? in
            guard let former = state.rooms[target] else { return nil }
            state.rooms[target] = Room(monitor: monitor, subscription: subscription)
            return former
        }
        guard former != nil else { return }
        if target == .defaultPath { endRetries() }
        if let path = monitor.currentPath { found(path, target) }
    }

    /// After 1, 2, 4 … 60 seconds: descriptors and threads come back.
    private func retryForWatchers() {
        let pause = state.withLock { state -> Duration? in
            guard !state.watchers.isEmpty else { return nil }
            defer { state.failures += 1 }
            return .seconds(min(1 << min(state.failures, 6), 60))
        }
        guard let pause else { return }
        let timer = timing.schedule(after: pause) { [weak self] in self?.openForWatchers() }
        let unwanted = state.withLock { state -> (any Cancellable)? in
            guard !state.watchers.isEmpty else { return timer }
            defer { state.retry = timer }
            return state.retry
        }
        unwanted?.cancel()
    }

    /// What happened while nobody could hear it may have broken connections, so those who watch are told once.
    private func endRetries() {
        let (wasDeaf, retry) = state.withLock { state in
            defer { state.failures = 0 }
            return (state.failures > 0, state.takeRetry())
        }
        retry?.cancel()
        if wasDeaf { tellWatchers() }
    }

    private func found(_ path: NetworkPath, _ target: NetworkPath.Target) {
        if path.isSatisfied { return reached(target) }
        let late = state.withLock { state in
            var late: [@Sendable () -> Void] = []
            for (id, wait) in state.waits where wait.unknown.contains(target) {
                state.waits[id]?.unknown.remove(target)
                guard wait.unknown.count == 1, let notYet = wait.notYet else { continue }
                state.waits[id]?.notYet = nil
                late.append(notYet)
            }
            return late
        }
        WorkPool.shared.submit(late)
    }

    private func reached(_ target: NetworkPath.Target) {
        let (actions, gone) = state.withLock { state -> ([@Sendable () -> Void], [Room]) in
            let ready = state.waits.filter { $0.value.targets.contains(target) }
            for id in ready.keys { state.waits[id] = nil }
            return (ready.sorted { $0.key < $1.key }.map(\.value.action), state.takeUnwanted())
        }
        WorkPool.shared.submit(actions)
        withExtendedLifetime(gone) {}
    }

    private func tellWatchers() {
        WorkPool.shared.submit(state.withLock { Array($0.watchers.values) })
    }
}
