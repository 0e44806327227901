import CoreFoundation  // in the overridable members of Thread
import Foundation
import HTTPTypes
import ScopedNetTesting
import SystemSupport

@_spi(Transport) @testable import ScopedNet

/// Forces one trace of the model upon the real engine: each of its threads is stopped at every door, and goes on when the trace says so. After
/// each stride the engine must look as the model does.
final class Replayer: @unchecked Sendable {
    // Safety: `places`, `permits`, `runID` and `isFree` are guarded by `condition`; what happened is in locks; the rest is constant.
    private enum Place: Equatable { case absent, running, stopped(Door), finished }

    struct Mismatch: Error, CustomStringConvertible {
        let description: String
        /// Not a mismatch: what is said to a listened-to run goes out with the network's turn, which is stopped here and never is there.
        var isHeldBack = false
    }

    /// Where the run is told apart from those of other tests.
    private final class RoleThread: Thread {
        let replayer: Replayer
        let number: Int
        private let work: () -> Void

        init(_ replayer: Replayer, _ number: Int, _ work: @escaping () -> Void) {
            self.replayer = replayer
            self.number = number
            self.work = work
            super.init()
        }

        override func main() {
            work()
            replayer.leave(number)
        }
    }

    private struct Seen {
        var successes = 0
        var failures = 0
        var furtherCalls = 0
        var ends: [EndReason] = []
        var isInCall = false
        var isSilent = false
        var complaints: [String] = []
    }

    private static let laneKey = DispatchSpecificKey<ObjectIdentifier>()

    private let setup: Setup
    /// The longest time of a stride, in seconds.
    private let patience: Double
    private let session: Session
    private let transport = ReplayTransport()
    private let timing = ManualClock()
    private let queue = DispatchQueue(label: "replay")
    private let bags: [DeallocBag]
    private let laneNumber: Int
    private let workerNumber: Int
    private let starterNumber: Int
    private let condition = NSCondition()
    private var places = [Place](repeating: .absent, count: 8)
    private var permits = [Int](repeating: 0, count: 8)
    private var runID: UInt64 = 0
    private var isFree = false
    private let seen = Lock(Seen())
    private let results = Lock([CancelOutcome?](repeating: nil, count: 8))
    private let core = Lock<RunDriver?>(nil)
    private var request: (() -> Void)?
    private var canary: WeakReference<Canary>

    init(_ scenario: Scenario, patience: Double = 10) {
        setup = scenario.setup
        self.patience = patience
        func number(_ role: Setup.Role) -> Int { scenario.setup.numbers.first { scenario.setup.roles[$0] == role } ?? -1 }
        (laneNumber, workerNumber, starterNumber) = (number(.lane), number(.worker), number(.starter0))
        let parent = DeallocBag(label: "first")
        bags = [parent, setup.isChild ? parent.child(label: "child") : DeallocBag(label: "second")]
        var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent(), deliveryQueue: queue)
        configuration.timing = timing
        configuration.random = { 0.5 }
        if setup.hasQueue { configuration.limits.perHost = 1 }
        if setup.isQueueFull { configuration.limits.queued = 0 }
        configuration.options.timeouts.queue = setup.hasQueueTimeout ? .seconds(10_000) : nil
        var retry = RetryPolicy.standard
        retry.maxAttempts = 5
        configuration.options.retry = retry
        session = Session(configuration: configuration)
        let fresh = Canary()
        canary = WeakReference(fresh)
        queue.setSpecific(key: Self.laneKey, value: ObjectIdentifier(self))
        request = makeRequest(fresh)
    }

    /// What the starter does.
    private func makeRequest(_ canary: Canary) -> () -> Void {
        var isDecoded = false
        for index in setup.script.indices where setup.script[index] == .okDecoded { isDecoded = true }
        let url = setup.failsPreparation ? "http://" : "http://h/"
        return isDecoded ? starting(session.request(url, decoder: .json([Int].self)), canary) : starting(session.request(url), canary)
    }

    private func starting<Value>(_ request: Request<Value>, _ canary: Canary) -> () -> Void {
        _ = request.options { [release = setup.release] options in
            options.release = release == .detached ? .detached : .untilFinished
        }
        let origin = CodeOrigin("replay", 1)
        let setup = setup
        request.arm { handlers in
            for number in 0..<setup.closures {
                let (success, failure) = number == 0 ? (\Seen.successes, \Seen.failures) : (\Seen.furtherCalls, \Seen.furtherCalls)
                handlers.success.append(CallbackHandler(lane: nil, origin: origin) { [weak self] _ in self?.inCall(canary, success) })
                handlers.failure.append(CallbackHandler(lane: nil, origin: origin) { [weak self] _ in self?.inCall(canary, failure) })
                guard setup.hasProgress else { continue }
                handlers.sent.append(CallbackHandler(lane: nil, origin: origin) { [weak self] _ in self?.inCall(canary, nil) })
            }
            if setup.hasOnEnd {
                handlers.end = .one(
                    CallbackHandler(lane: nil, origin: origin) { [weak self] reason in self?.seen.withLock { $0.ends.append(reason) } })
            }
        }
        let bag = setup.usesBag ? bags[setup.bag(0)] : nil
        return { _ = request.start(in: bag?.storage, origin: origin) }
    }

    private func inCall(_ canary: Canary, _ count: WritableKeyPath<Seen, Int>?) {
        seen.withLock { seen in
            if let count { seen[keyPath: count] += 1 }
            if seen.isSilent { seen.complaints.append("called after a cancel said that nothing will be") }
            if seen.isInCall { seen.complaints.append("two calls at once") }
            seen.isInCall = true
        }
        stop(laneNumber, .inCall)
        if setup.cancelsInCall { _ = core.withLock { $0 }?.cancel(.explicit) }
        seen.withLock { $0.isInCall = false }
    }

    // MARK: The doors

    /// A `StepDoor` visitor.
    func visit(_ step: Step, _ run: UInt64) {
        let role = Thread.current as? RoleThread
        let isMine = role?.replayer === self
        condition.lock()
        if runID == 0, isMine, role?.number == starterNumber, run != 0 { runID = run }
        let isThisRun = run != 0 && run == runID
        condition.unlock()
        guard isThisRun || (run == 0 && isMine) else { return }
        let number: Int
        if let role, isMine {
            number = role.number
        } else if DispatchQueue.getSpecific(key: Self.laneKey) == ObjectIdentifier(self) {
            number = laneNumber
        } else {
            number = workerNumber
        }
        guard number >= 0 else { return }
        switch step {
        case .delivering, .beforeCall, .beforeDecode: stop(number, .idle)
        // Nobody stops there: what the job did last is done before the next stride.
        case .workEnded: leave(number)
        default: if let door = Door(rawValue: step.rawValue) { stop(number, door) }
        }
    }

    private func stop(_ number: Int, _ door: Door) {
        condition.lock()
        defer { condition.unlock() }
        guard !isFree else { return }
        places[number] = .stopped(door)
        condition.broadcast()
        while permits[number] == 0, !isFree { condition.wait() }
        if !isFree { permits[number] -= 1 }
    }

    private func leave(_ number: Int) {
        condition.lock()
        places[number] = .finished
        condition.broadcast()
        condition.unlock()
    }

    private func wait(_ number: Int, _ isThere: (Place) -> Bool, _ what: String) throws(Mismatch) {
        let deadline = Date(timeIntervalSinceNow: patience)
        condition.lock()
        defer { condition.unlock() }
        while !isThere(places[number]) {
            guard condition.wait(until: deadline) else {
                throw Mismatch(description: "\(setup.roles[number]) should come to \(what), is \(places[number])")
            }
        }
    }

    /// The door a thread stands at, if it comes to one in time.
    private func place(of number: Int, within seconds: Double) -> Door? {
        let deadline = Date(timeIntervalSinceNow: seconds)
        condition.lock()
        defer { condition.unlock() }
        while true {
            if case .stopped(let door) = places[number] { return door }
            if !condition.wait(until: deadline) { return nil }
        }
    }

    // MARK: One trace

    func replay(_ strides: [Stride]) throws(Mismatch) {
        if setup.hasQueue { occupySlot() }
        for (index, stride) in strides.enumerated() {
            do throws(Mismatch) {
                try take(stride)
                try compare(stride)
            } catch {
                if error.isHeldBack { throw error }
                let role = setup.roles[stride.move.thread]
                throw Mismatch(description: "stride \(index + 1) of \(strides.count), \(role) to \(stride.door): \(error)")
            }
        }
        if let last = strides.last { try checkEnd(last) }
    }

    /// Lets everybody run on, so that nothing stays behind.
    func release() {
        condition.lock()
        isFree = true
        condition.broadcast()
        // A trace that was refused leaves threads on their way.
        let deadline = Date(timeIntervalSinceNow: 2)
        let threads = places.indices.filter { $0 != laneNumber && $0 != workerNumber }
        while threads.contains(where: { places[$0] != .absent && places[$0] != .finished }), condition.wait(until: deadline) {}
        condition.unlock()
        request = nil
        // ...and a run, which nobody else would end.
        core.withLock { $0 = nil }
        session.agent.cancelAll()
        transport.forget()
    }

    private func take(_ stride: Stride) throws(Mismatch) {
        let (number, door) = (stride.move.thread, stride.door)
        let role = setup.roles[number]
        switch role {
        case .lane:
            let network = setup.numbers.first { setup.roles[$0] == .network } ?? 0
            if setup.hasProgress, place(of: number, within: 0.1) == nil, place(of: network, within: 0) != nil {
                throw Mismatch(description: "held back", isHeldBack: true)
            }
            try wait(number, { if case .stopped = $0 { true } else { false } }, "its next item")
            if door == .idle, stride.isLaneEmpty {
                grant(number)
                queue.async { self.leave(number) }
                return try wait(number, { $0 == .finished }, "the end of its items")
            }
            grant(number)
            return try wait(number, { $0 == .stopped(door) }, "\(door)")
        case .worker:
            try wait(number, { if case .stopped = $0 { true } else { false } }, "its job")
            grant(number)
            if door == .idle { return try wait(number, { $0 == .finished }, "the end of its job") }
            return try wait(number, { $0 == .stopped(door) }, "\(door)")
        default:
            condition.lock()
            let place = places[number]
            condition.unlock()
            if case .stopped = place {
                grant(number)
            } else {
                let work = action(stride.move)
                condition.lock()
                places[number] = .running
                condition.unlock()
                RoleThread(self, number, work).start()
            }
            let isThrough = door == .finished || door == .idle
            try wait(number, { isThrough ? $0 == .finished : $0 == .stopped(door) }, "\(door)")
            if number == starterNumber, core.withLock({ $0 == nil }) {
                let run = session.agent.liveRuns().first
                core.withLock { $0 = run }
            }
        }
    }

    private func grant(_ number: Int) {
        condition.lock()
        places[number] = .running
        permits[number] += 1
        condition.broadcast()
        condition.unlock()
    }

    private func action(_ move: Move) -> () -> Void {
        let number = move.thread
        func cancel(_ reason: CancelReason) -> () -> Void {
            {
                let result = self.core.withLock { $0 }?.cancel(reason)
                self.results.withLock { $0[number] = result }
                self.seen.withLock { if result != .callbackRunning { $0.isSilent = true } }
            }
        }
        switch setup.roles[number] {
        case .starter0: return request ?? {}
        case .cancel, .cancelAgain: return cancel(.explicit)
        case .shutdown: return cancel(.shutdown)
        case .dropHandle: return cancel(.requestReleased)
        case .endBag: return { [bag = bags[setup.bag(0)]] in bag.end() }
        case .endParent: return { [bag = bags[0]] in bag.end() }
        case .cancelAllInBag: return { [bag = bags[setup.bag(0)]] in bag.cancelAll() }
        case .join: return { [bag = bags[setup.bag(1)]] in _ = self.core.withLock { $0 }?.join(bag.storage) }
        case .otherRequest: return { self.transport.succeedOther() }
        case .timer:
            let isQueue = move.choice / 16 == 0
            return { _ = isQueue ? self.timing.fireLast() : self.timing.fireNext() }
        case .suspender:
            return {
                for round in 0..<Int(self.setup.suspensions) * 2 {
                    if round > 0 { self.stop(number, .betweenSuspensions) }
                    _ = self.core.withLock { $0 }?.setSuspended(round % 2 == 0)
                }
            }
        case .network:
            let (index, kind) = (move.choice % 12 / 3, move.choice % 3)
            let response = setup.script[index]
            return {
                switch kind {
                case 0: self.transport.progress(index)
                case 1: self.transport.finish(index, response)
                default: self.transport.finishCancelled(index)
                }
            }
        default: return {}
        }
    }

    private func occupySlot() {
        let other = session.with {
            $0.agent = RequestAgent(); $0.deliveryQueue = DispatchQueue(label: "other")
        }
        _ = other.request("http://h/other").start()
        transport.keepOther()
    }

    // MARK: Comparing

    private func picture(_ core: RunDriver) -> [String] {
        let gate = core.lifecycle
        let counts = seen.withLock { ($0.successes, $0.failures, $0.furtherCalls, $0.ends.count) }
        return [
            "gate \(gate.phase) \(gate.reason) \(gate.goesOn)", "stage \(core.stage.word & 7)", "suspended \(core.isSuspended)",
            "alive \(session.agent.liveRuns().count)", "bags \(bags[0].count) \(bags[1].count)",
            "waiting \(session.admission.waitingCount)",
            "slots \(setup.hasQueue ? session.admission.activeCount : 0)", "timers \(timing.armedCount)", "transfers \(transport.picture)",
            "calls \(counts.0) \(counts.1) \(counts.2) \(counts.3)",
        ]
    }

    private func compare(_ stride: Stride) throws(Mismatch) {
        guard let core = core.withLock({ $0 }) else { return }
        let expected = stride.picture
        var actual = picture(core)
        // The last instructions of a job or a lane's item may still be under way, and no door stands behind them that could be waited for.
        var looks = Int(patience * 200)
        while actual != expected, looks > 0 {
            usleep(500)
            looks -= 1
            actual = picture(core)
        }
        let differences = zip(expected, actual).filter { $0 != $1 }.map { "\($0) in the model, \($1) in the engine" }
        guard differences.isEmpty else { throw Mismatch(description: differences.joined(separator: "; ")) }
        if let answer = stride.answer, let result = results.withLock({ $0[stride.move.thread] }) {
            let predicted = [CancelOutcome.cancelled, .cancelled, .callbackRunning, .alreadyEnded][answer]
            guard result == predicted else { throw Mismatch(description: "cancel said \(result), the model \(predicted)") }
        }
    }

    /// The guarantees themselves, whatever the model says.
    private func checkEnd(_ last: Stride) throws(Mismatch) {
        guard let run = core.withLock({ $0 }) else { throw Mismatch(description: "no run") }
        var complaints = seen.withLock { $0.complaints }
        let (successes, failures, ends) = seen.withLock { ($0.successes, $0.failures, $0.ends) }
        if !run.lifecycle.isOver { complaints.append("the run never ended: \(run.status)") }
        if successes + failures > 1 { complaints.append("\(successes) successes, \(failures) failures") }
        if setup.hasOnEnd {
            if ends.count != 1 { complaints.append("onEnd came \(ends.count) times") }
            let isCancelled = ends.first?.isCancelled ?? false
            if isCancelled, successes + failures > 0 { complaints.append("cancelled and called") }
            if !isCancelled, successes + failures != 1 { complaints.append("ended without a call") }
            if let end = ends.first, number(of: end) != last.endReason { complaints.append("it ended \(end)") }
        }
        if session.agent.liveCount != 0 { complaints.append("the agent keeps it") }
        if bags[1].count != 0 || bags[0].count > (setup.isChild ? 1 : 0) { complaints.append("a bag keeps it") }
        if timing.armedCount != 0 { complaints.append("a timer is left") }
        if session.admission.waitingCount != 0 { complaints.append("it still waits") }
        request = nil
        // The last owner of the closures may be a job's stack that is just being left: a release tells nobody.
        var patience = 2_000
        while canary.object != nil, patience > 0 {
            usleep(500)
            patience -= 1
        }
        if canary.object != nil { complaints.append("its closures are alive") }
        guard complaints.isEmpty else { throw Mismatch(description: "at the end: " + complaints.joined(separator: "; ")) }
    }

    private func number(of end: EndReason) -> UInt8 {
        switch end {
        case .succeeded: Reason.succeeded
        case .failed: Reason.failed
        case .cancelled(let reason): reason.name.rawValue
        }
    }
}
