import CNetlink
import Glibc
import SystemSupport

/// The monitor's thread: one epoll over the kernel's events, the wake-up, the clock and the folder of `resolv.conf`.
///
/// Events only say "look again"; the answer comes from asking the kernel. Made on the thread that starts, and from then on touched by
/// its own thread only.
final class MonitorLoop {
    private enum Source: UInt64 { case wake, changes, routes, clock, resolverFile }

    private let run: MonitorRun
    private let netlink: NetlinkKernel?
    private var isPolling: Bool { netlink == nil }
    private var events: NetlinkEvents?
    private let epoll: Int32
    private let clock = ClockWatch()
    private var resolverFile: ResolverFile
    private var sleep = SleepDetector(timeAsleep: Monotonic.timeAsleep())
    private var throttle: EvaluationThrottle
    /// What the events since the last look took away.
    private var losses = Losses()
    private var previous: CountdownLatch?
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 8 << 10, alignment: 16)

    /// The path everybody shares; when it changes, names are resolved again.
    private var defaultPath: NetworkPath?

    // When to do what, if nothing happens before. Nil all of them: the thread sleeps until something does.
    private var evaluateAt: Duration?
    private var lookAgainAt: Duration?
    private var reloadAt: Duration?
    private var listenToRoutesAt: Duration?
    private var pollAt: Duration?
    private var retryNamesAt: Duration?

    /// Makes the loop of a run. `previous` is the end of the thread before this one, which may still be in a callback.
    init(run: MonitorRun, events: consuming NetlinkEvents?, previous: CountdownLatch?) throws(SystemFailure) {
        self.run = run
        netlink = run.kernel as? NetlinkKernel
        throttle = EvaluationThrottle(window: run.configuration.lookWindow)
        let changes = events?.changes.descriptor
        let routes = events?.routes.descriptor
        self.events = events
        self.previous = previous
        resolverFile = ResolverFile(path: run.configuration.resolverFile)
        _ = run.setNameServers(resolverFile.nameServers())
        epoll = epoll_create1(CNL_EPOLL_CLOEXEC)
        guard epoll >= 0 else { throw SystemFailure("epoll_create1") }
        try watch(run.wakeDescriptor, .wake)
        if clock.descriptor >= 0 { try watch(clock.descriptor, .clock) }
        if resolverFile.descriptor >= 0 { try watch(resolverFile.descriptor, .resolverFile) }
        if let changes { try watch(changes, .changes) }
        if let routes { try watch(routes, .routes) }
        if isPolling { pollAt = Monotonic.now() + pollingInterval }
    }

    deinit {
        if epoll >= 0 { close(epoll) }
        buffer.deallocate()
    }

    private func watch(_ descriptor: Int32, _ source: Source) throws(SystemFailure) {
        var event = epoll_event()
        event.events = CNL_EPOLL_IN
        event.data.u64 = source.rawValue
        guard epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 else { throw SystemFailure("epoll_ctl") }
    }

    /// Reads the tables for the first time, on the thread that starts: the groups are joined already, so nothing falls in between.
    func prepare() throws(SystemFailure) {
        if let netlink {
            if try !netlink.load() { reloadAt = Monotonic.now() + .milliseconds(50) }
        }
    }

    // MARK: The thread

    func main() {
        // Calls never overlap: what the last run's thread is still in comes first.
        previous?.wait()
        previous = nil
        tell()
        while turn() {}
        run.ended.countDown()
    }

    /// - Returns: false when it is over.
    private func turn() -> Bool {
        let ready = waitForSources()
        run.count { $0.wakeUps += 1 }
        var mayDiffer = false
        var limit = max(1, 32 / max(1, run.members.count))
        for source in ready {
            switch source {
            case .wake:
                let wake = run.takeWake()
                if wake.contains(.stop) { return false }
                if handle(wake) { mayDiffer = true }
            case .changes: if drainChanges() { mayDiffer = true }
            case .routes:
                if drainRoutes() { mayDiffer = true }
                if listenToRoutesAt != nil { limit = .max }
            case .clock: if clockDidStep() { mayDiffer = true }
            case .resolverFile:
                if resolverFile.clear(buffer), run.setNameServers(resolverFile.nameServers()) {
                    resolveNames()
                    mayDiffer = true
                }
            }
        }
        if handleTimers(Monotonic.now()) { mayDiffer = true }
        if mayDiffer { evaluate(limit: limit) }
        tell()
        return true
    }

    /// Not so often that it does nothing else.
    private var pollingInterval: Duration { max(run.configuration.pollingInterval, .milliseconds(10)) }

    private func waitForSources() -> [Source] {
        var timeout: Int32 = -1
        if let next = [evaluateAt, lookAgainAt, reloadAt, listenToRoutesAt, pollAt, retryNamesAt].compactMap({ $0 }).min() {
            timeout = (next - Monotonic.now()).milliseconds
        }
        return withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 8) { events in
            let count = epoll_wait(epoll, events.baseAddress, 8, timeout)
            return (0..<max(0, Int(count))).compactMap { Source(rawValue: events[$0].data.u64) }
        }
    }

    private func handleTimers(_ now: Duration) -> Bool {
        var mayDiffer = false
        func isDue(_ time: inout Duration?) -> Bool {
            guard let due = time, due <= now else { return false }
            time = nil
            return true
        }
        if isDue(&evaluateAt) { mayDiffer = true }
        if isDue(&lookAgainAt) {
            waitForChanges()
            mayDiffer = true
        }
        if isDue(&reloadAt) { if reload() { mayDiffer = true } }
        if isDue(&listenToRoutesAt) { if listenToRoutes() { mayDiffer = true } }
        if isDue(&pollAt) {
            pollAt = now + pollingInterval
            // Without netlink nobody says that resolv.conf's server or a name's address has changed, but the path does.
            mayDiffer = true
        }
        if isDue(&retryNamesAt) { retryNames(now) }
        return mayDiffer
    }

    /// By a socket of its own: the kernel may hold its lock for long, and others who look need not wait for it.
    private func waitForChanges() {
        guard netlink != nil, var queries = try? NetlinkQuerySocket() else { return }
        queries.waitForChanges()
    }

    private func handle(_ wake: MonitorRun.Wake) -> Bool {
        if wake.contains(.refresh) {
            _ = run.setNameServers(resolverFile.nameServers())
            _ = reload()
            resolveNames()
            return true
        }
        if wake.contains(.filter), adjustFilter() { return true }
        if wake.contains(.evaluate) { return true }
        return false
    }

    // MARK: Events

    private func drainChanges() -> Bool {
        guard let netlink, let drained = events?.drainChanges({ netlink.apply($0, to: &$1) }) else { return false }
        note(drained)
        guard drained.overran else { return drained.change.mayDiffer }
        run.count { $0.overruns += 1 }
        return reload()
    }

    private func note(_ drained: NetlinkEvents.Drained) {
        run.count { $0.events += drained.messages }
        losses.formUnion(drained.change.losses)
        // Soon, and not only at once: the first look may come before the kernel is done.
        if drained.change.isUnfinished { lookAgainAt = lookAgainAt ?? Monotonic.now() + throttle.window }
    }

    /// Everything afresh, after the queue has been emptied: the kernel drops what happens until then. What happens from then on comes
    /// as events, some of them older than what the dump holds, which does no harm.
    private func reload() -> Bool {
        guard let netlink else { return true }
        run.count { $0.resyncs += 1 }
        for _ in 0..<3 {
            let isComplete = (try? netlink.load()) ?? false
            losses.formUnion(netlink.takeLosses())
            if !isComplete { reloadAt = Monotonic.now() + .milliseconds(50) }
            guard let drained = events?.drainChanges({ netlink.apply($0, to: &$1) }) else { break }
            note(drained)
            if !drained.overran { return true }
            run.count { $0.overruns += 1 }
        }
        reloadAt = Monotonic.now() + .milliseconds(50)
        return true
    }

    private func drainRoutes() -> Bool {
        guard let drained = events?.drainRoutes() else { return false }
        run.count { statistics in
            statistics.events += drained.messages
            statistics.routeEvents += drained.messages
            if drained.overran { statistics.overruns += 1 }
        }
        // Every route of a storm comes here: look once, then look away for a while and let the socket overflow.
        if drained.change.mayDiffer, events?.interests == .every, let descriptor = events?.routes.descriptor {
            epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, nil)
            listenToRoutesAt = Monotonic.now() + throttle.window
        }
        return drained.change.mayDiffer
    }

    private func listenToRoutes() -> Bool {
        guard let descriptor = events?.routes.descriptor else { return false }
        do throws(SystemFailure) {
            try watch(descriptor, .routes)
        } catch {
            listenToRoutesAt = Monotonic.now() + throttle.window
            return true
        }
        return false
    }

    private func clockDidStep() -> Bool {
        clock.clear()
        guard sleep.hasSlept(timeAsleep: Monotonic.timeAsleep()) else { return false }
        run.count { $0.resumes += 1 }
        _ = reload()
        resolveNames()
        return true
    }

    // MARK: Looking

    private func evaluate(limit: Int) {
        let now = Monotonic.now()
        let lost = losses
        losses = Losses()
        if let later = throttle.admit(limit: limit, now: now, isLoss: !lost.isEmpty && run.members.contains { $0.rests(on: lost) }) {
            evaluateAt = min(evaluateAt ?? later, later)
            return
        }
        evaluateAt = nil
        repeat { evaluateAll() } while adjustFilter()
    }

    private func evaluateAll() {
        run.count { $0.evaluations += 1 }
        var hasHosts = false
        run.kernel.readInterfaces()
        for member in run.members {
            switch run.evaluate(member) {
            case .unchanged, .published, .outdated: break
            case .wait(let deadline): evaluateAt = min(evaluateAt ?? deadline, deadline)
            case .unanswered:
                let again = Monotonic.now() + Self.shortagePause
                evaluateAt = min(evaluateAt ?? again, again)
            }
            guard case .host = member.target.subject else { continue }
            hasHosts = true
            if let retry = member.state.withLock({ $0.resolution.retryAt }) { retryNamesAt = min(retryNamesAt ?? retry, retry) }
        }
        if hasHosts { noteDefaultPath() }
    }

    /// Memory and descriptors come back.
    private static let shortagePause = Duration.milliseconds(50)

    private func noteDefaultPath() {
        let outcome = run.evaluate(PathQuestion(target: .defaultPath)).0
        guard outcome.shortage == nil else { return }
        let path = outcome.path
        defer { defaultPath = path }
        if let defaultPath, !defaultPath.hasSameContent(as: path) { resolveNames() }
    }

    /// Hears of the routes that may decide somebody's answer.
    ///
    /// - Returns: true when these are more than before, and something may have been missed.
    private func adjustFilter() -> Bool { events?.hear(run.routeInterests) ?? false }

    private func resolveNames() { for member in run.members { run.resolve(member) } }

    private func retryNames(_ now: Duration) {
        for member in run.members where member.state.withLock({ $0.resolution.retryAt.map { $0 <= now } ?? false }) { run.resolve(member) }
        // The timer that has just fired may have been set for somebody who asked again in the meantime: the others still wait for theirs.
        retryNamesAt = run.members.compactMap { member in member.state.withLock { $0.resolution.retryAt } }.min()
    }

    private func tell() { for member in run.members { member.deliver() } }
}

extension Duration {
    /// For epoll_wait(2): rounded up, so that a timer never fires early.
    fileprivate var milliseconds: Int32 {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        guard seconds < 86_400 else { return 86_400_000 }
        return Int32(seconds) * 1000 + Int32((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }
}
