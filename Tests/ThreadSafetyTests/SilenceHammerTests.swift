import CleanSlate
import Dispatch
import Foundation
import Synchronization
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Runs with a delegate and several closures of each kind, on two executors, are silenced at random: from within a call, or from a thread beside
/// it; by a cancel, by a bag's end, by its `cancelAll` and by its deinit. Each call is admitted for itself: what was stopped from within is silent
/// at once, and after a stop from elsewhere has returned at most one call begins, which had been admitted before.
@Suite(.leavesNothing(objects: false), .serialized) struct SilenceHammerTests {
    private enum Stop: UInt64, CaseIterable { case cancel, bagEnd, bagCancelAll, bagDeinit }

    private final class Tally: Sendable {
        let runs = Atomic(0)
        let calls = Atomic(0)
        let late = Atomic(0)
        let afterCancelled = Atomic(0)
        let doubleEnds = Atomic(0)
        let missingEnds = Atomic(0)
        let overlaps = Atomic(0)
        let stoppedInside = Atomic(0)
        let silenced = Atomic(0)
    }

    /// One run and what it was told.
    private final class Record: Sendable {
        let tally: Tally
        /// The call that stops the run; above all of them, nobody does from within.
        let stopsAt: Int
        let stop: Stop
        private let bag = Lock<DeallocBag?>(DeallocBag())
        private let run = Lock<Run?>(nil)
        private let isReady = DispatchSemaphore(value: 0)
        private let calls = Atomic(0)
        private let running = Atomic(0)
        private let isHushed = Atomic(false)
        private let isSilent = Atomic(false)
        private let isStoppedInside = Atomic(false)
        private let begunLate = Atomic(0)
        private let ends = Atomic(0)

        init(_ tally: Tally, stopsAt: Int, _ stop: Stop) {
            self.tally = tally
            self.stopsAt = stopsAt
            self.stop = stop
        }

        func start(_ request: Request<Data>) {
            let run = bag.withLock { request.start(in: $0!) }
            self.run.withLock { $0 = run }
            isReady.signal()
        }

        func reach() {
            if isStoppedInside.load(ordering: .sequentiallyConsistent) { tally.late.add(1, ordering: .relaxed) }
            if isSilent.load(ordering: .sequentiallyConsistent) { tally.afterCancelled.add(1, ordering: .relaxed) }
            if isHushed.load(ordering: .sequentiallyConsistent), begunLate.add(1, ordering: .relaxed).oldValue > 0 {
                tally.late.add(1, ordering: .relaxed)
            }
            if running.add(1, ordering: .sequentiallyConsistent).oldValue > 0 { tally.overlaps.add(1, ordering: .relaxed) }
            isReady.wait()
            isReady.signal()
            tally.calls.add(1, ordering: .relaxed)
            if calls.add(1, ordering: .relaxed).oldValue == stopsAt {
                tally.stoppedInside.add(1, ordering: .relaxed)
                halt()
                isStoppedInside.store(true, ordering: .sequentiallyConsistent)
            }
            running.subtract(1, ordering: .sequentiallyConsistent)
        }

        func end() { if ends.add(1, ordering: .relaxed).oldValue > 0 { tally.doubleEnds.add(1, ordering: .relaxed) } }

        /// On a thread of its own, at some moment.
        func haltFromElsewhere() {
            isReady.wait()
            isReady.signal()
            if halt() == .cancelled { isSilent.store(true, ordering: .sequentiallyConsistent) }
            isHushed.store(true, ordering: .sequentiallyConsistent)
        }

        @discardableResult
        private func halt() -> Run.CancelResult? {
            switch stop {
            case .cancel: return run.withLock { $0 }?.cancel()
            case .bagEnd: bag.withLock { $0 }?.end()
            case .bagCancelAll: bag.withLock { $0 }?.cancelAll()
            case .bagDeinit:
                let last = bag.withLock { bag in
                    defer { bag = nil }
                    return bag
                }
                _ = last
            }
            return nil
        }

        /// Returns when no call of it is pending.
        func over(_ session: Session) async {
            guard let core = run.withLock({ $0?.core }) else { return }
            await session.agent.ended(core)
        }

        func check() {
            if ends.load(ordering: .relaxed) != 1 { tally.missingEnds.add(1, ordering: .relaxed) }
            if calls.load(ordering: .relaxed) < 8 { tally.silenced.add(1, ordering: .relaxed) }
            run.withLock { $0 = nil }
        }
    }

    private final class Delegate: RequestDelegate, Sendable {
        let record: Record
        init(_ record: Record) { self.record = record }
        func requestDidStart(_ run: Run.Info) { record.reach() }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { record.reach() }
        func request(_ run: Run.Info, didReceive progress: TransferProgress) { record.reach() }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { record.reach() }
        func request(_ run: Run.Info, didFailWith error: NetworkError) { record.reach() }
        func requestDidEnd(_ run: Run.Info) { record.reach() }
    }

    private static func request(_ session: Session, _ record: Record, other: DeliveryLane?) -> Request<Data> {
        let request = session.request("http://chaos/")
        let origin = CodeOrigin("hammer", 1)
        request.arm { handlers in
            for number in 0..<3 {
                let lane = number == 1 ? other : nil
                handlers.head.append(CallbackHandler(lane: lane, origin: origin) { _ in record.reach() })
                handlers.received.append(CallbackHandler(lane: lane, origin: origin) { _ in record.reach() })
                handlers.success.append(CallbackHandler(lane: lane, origin: origin) { _ in record.reach() })
                handlers.failure.append(CallbackHandler(lane: lane, origin: origin) { _ in record.reach() })
            }
            handlers.end.append(CallbackHandler(lane: nil, origin: origin) { _ in record.end() })
        }
        return request
    }

    private static func attempts(_ count: Int, seed: UInt64, _ session: Session, _ tally: Tally) async {
        var random = SplitMix(seed: seed)
        let other = DeliveryLane(queue: DispatchQueue(label: "other \(seed)"))
        for _ in 0..<count / 16 {
            var kept: [(Record, Delegate)] = []
            for _ in 0..<16 {
                let dice = random.next()
                let isFromElsewhere = dice & 1 == 0
                let stop = Stop(rawValue: dice >> 1 & 3) ?? .cancel
                let record = Record(tally, stopsAt: isFromElsewhere ? .max : Int(dice >> 8 & 15), stop)
                let delegate = Delegate(record)
                let request = request(session, record, other: dice >> 4 & 1 == 0 ? other : nil)
                if dice >> 5 & 1 == 0 { _ = request.delegate(sendable: delegate) }
                if isFromElsewhere { DispatchQueue.global().async { record.haltFromElsewhere() } }
                record.start(request)
                tally.runs.add(1, ordering: .relaxed)
                kept.append((record, delegate))
            }
            for (record, _) in kept { await record.over(session) }
            for (record, _) in kept { record.check() }
        }
    }

    // THR-2
    @Test func severalClosuresAndADelegateFallSilentTogether() async throws {
        let chaos = ChaosTransport()
        var configuration = Session.Configuration(customTransport: chaos, agent: RequestAgent())
        configuration.limits.perHost = 200
        configuration.limits.total = 200
        let session = Session(configuration: configuration)
        let tally = Tally()
        let environment = ProcessInfo.processInfo.environment
        let count = environment["SCOPEDNET_SOAK"] == "1" ? 200_000 : environment["SCOPEDNET_QUICK"] == "1" ? 1_024 : 10_000
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 { group.addTask { await Self.attempts(count / 8, seed: UInt64(thread) + 1, session, tally) } }
        }
        await session.agent.waitUntilIdle()
        chaos.settle()
        let figures = [
            ("runs", tally.runs.load(ordering: .relaxed)), ("calls", tally.calls.load(ordering: .relaxed)),
            ("stopped from within", tally.stoppedInside.load(ordering: .relaxed)), ("silenced", tally.silenced.load(ordering: .relaxed)),
            ("late", tally.late.load(ordering: .relaxed)),
        ]
        print("silence: " + figures.map { "\($0.1) \($0.0)" }.joined(separator: ", "))
        #expect(tally.late.load(ordering: .relaxed) == 0)
        #expect(tally.afterCancelled.load(ordering: .relaxed) == 0)
        #expect(tally.overlaps.load(ordering: .relaxed) == 0)
        #expect(tally.doubleEnds.load(ordering: .relaxed) == 0)
        #expect(tally.missingEnds.load(ordering: .relaxed) == 0)
        #expect(tally.silenced.load(ordering: .relaxed) > 0)
        #expect(session.agent.liveCount == 0)
    }
}
