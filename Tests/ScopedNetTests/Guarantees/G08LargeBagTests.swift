import CleanSlate
import Foundation
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// G8, for bags with so many members that they are torn down in the background, many at a time.
@Suite(.leavesNothing) struct G08LargeBagTests {
    private static let members = 10_000

    @Test(arguments: [false, true])
    func itDiesWhileOthersWaitStartAndCancel(isObserved: Bool) async throws {
        let transport = HeldTransport()
        let observer = EndCounter()
        var configuration = Session.Configuration(customTransport: transport, agent: RequestAgent())
        configuration.limits.perHost = 32
        configuration.limits.total = 64
        if isObserved { configuration.observers = [observer] }
        let session = Session(configuration: configuration)
        let ends = Trace()
        let destroyed = Counter()

        var bag: DeallocBag? = DeallocBag()
        let elsewhere = DeallocBag()
        for number in 0..<Self.members {
            start(number, session, in: bag!, elsewhere, ends, destroyed)
        }
        let others = (0..<60).map { other($0, session, ends) }
        #expect(session.admission.activeCount == 64)
        #expect(session.admission.waitingCount == Self.members + 60 - 64)

        // The bag dies on this thread; two others start, and cancel what waited behind its members.
        async let starting: Void = Self.onThread { for number in 60..<120 { _ = other(number, session, ends) } }
        async let cancelling: Void = Self.onThread { for run in others[..<20] { run.cancel() } }
        bag = nil
        await starting
        await cancelling
        transport.answerAll()
        await session.agent.waitUntilIdle()

        #expect(destroyed.value == Self.members)
        #expect(ends.count("owner released") == Self.members / 2)
        #expect(ends.count("explicit") == 20)
        #expect(ends.count("succeeded") == 100)
        #expect(ends.lines.count == Self.members / 2 + 120)
        #expect(session.admission.waitingCount == 0)
        #expect(session.admission.activeCount == 0)
        #expect(session.agent.liveRuns().isEmpty)
        #expect(elsewhere.count == 0)
        if isObserved { #expect(observer.cancelled == Self.members + 20) }
    }

    /// Half of them say how they ended; some are in a further bag, have a key, a timer, or go on when their bag is gone.
    private func start(
        _ number: Int, _ session: Session, in bag: DeallocBag, _ elsewhere: DeallocBag, _ ends: Trace, _ destroyed: Counter
    ) {
        let canary = Probe { destroyed.add() }
        let request = session.request("http://\(["a", "b", "c"][number % 3])/")
            .onSuccess { _ in
                _ = canary; ends.add("late")
            }
            .onFailure { _ in ends.add("late") }
        if number % 2 == 0 { _ = request.onEnd { ends.add($0.name) } }
        if number % 10 == 1 {
            _ = request.options {
                $0.repeats = .replaceRunning
                $0.repeats.key = "key \(number)"
            }
        }
        if number % 10 == 2 { _ = request.options { $0.timeouts.queue = .seconds(600) } }
        let run = request.start(in: bag)
        if number % 10 == 3 { run.store(in: elsewhere) }
    }

    private func other(_ number: Int, _ session: Session, _ ends: Trace) -> Run {
        session.request("http://\(["b", "d"][number % 2])/").onEnd { ends.add($0.name) }.start()
    }

    private static func onThread(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                work()
                continuation.resume()
            }
        }
    }

    @Test func whatIsDetachedGoesOnWithoutAWord() async throws {
        let transport = HeldTransport()
        let session = Session(configuration: Session.Configuration(customTransport: transport, agent: RequestAgent()))
        let ends = Trace()
        var bag: DeallocBag? = DeallocBag()
        for _ in 0..<1_000 {
            session.request("http://a/").options { $0.release = .detached }
                .onSuccess { _ in ends.add("late") }.onEnd { ends.add($0.name) }.start(in: bag!)
        }
        bag = nil
        await ends.wait(for: 1_000)
        transport.answerAll()
        await session.agent.waitUntilIdle()
        #expect(ends.count("owner released") == 1_000)
        #expect(ends.lines.count == 1_000)
        #expect(transport.startedCount == 1_000)
    }

    @Test func whoWaitsForOneOfItsMembersIsTold() async throws {
        let session = Session(configuration: Session.Configuration(customTransport: HeldTransport(), agent: RequestAgent()))
        var bag: DeallocBag? = DeallocBag()
        let runs = (0..<1_000).map { _ in session.request("http://a/").start(in: bag!) }
        async let last = runs[999].cancelAndWait()
        bag = nil
        _ = await runs[500].cancelAndWait()
        _ = await last
        await session.agent.waitUntilIdle()
        #expect(runs.allSatisfy { $0.status.stage == .cancelled })
        #expect(session.admission.waitingCount == 0)
    }

    @Test func itsOtherMembersEndToo() async throws {
        let session = Session(configuration: Session.Configuration(customTransport: HeldTransport(), agent: RequestAgent()))
        let trace = Trace()
        let bag = DeallocBag()
        let children = (0..<100).map { _ in bag.child() }
        for number in 0..<600 {
            bag.insert(AnyCancellable { trace.add("foreign") })
            session.request("http://a/").onEnd { trace.add($0.name) }.start(in: number % 6 == 0 ? children[number / 6] : bag)
        }
        let summary = bag.end(.explicit)
        #expect(summary.tearingDown == 100 + 600 + 500)
        await trace.wait(for: 1_200)
        await session.agent.waitUntilIdle()
        #expect(trace.count("foreign") == 600)
        #expect(trace.count("explicit") == 600)
        #expect(children.allSatisfy { $0.isEnded && $0.count == 0 })
    }
}

extension EndReason {
    fileprivate var name: String {
        switch self {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled(let reason): "\(reason)"
        }
    }
}

private final class EndCounter: RequestObserver {
    private let counter = Counter()
    var cancelled: Int { counter.value }

    func observe(_ event: RequestEvent) {
        if case .cancelled = event.kind { counter.add() }
    }
}

/// Holds every transfer until the test says so, then answers all, also those that start later. A cancelled one ends at once.
private final class HeldTransport: Transport {
    private struct State {
        var isOpen = false
        var startedCount = 0
        var held: [UInt64: (transfer: TransferRequest, sink: any TransferSink)] = [:]
    }
    private let state = Lock(State())

    var startedCount: Int { state.withLock { $0.startedCount } }

    func start(_ transfer: TransferRequest, sink: any TransferSink) {
        let isOpen = state.withLock { state in
            state.startedCount += 1
            state.held[transfer.id.number] = (transfer, sink)
            return state.isOpen
        }
        if isOpen { finish(transfer.id, .success(())) }
    }

    func answerAll() {
        let held = state.withLock { state in
            state.isOpen = true
            return state.held.values.map(\.transfer.id)
        }
        for id in held { finish(id, .success(())) }
    }

    func cancel(_ id: TransferID) {
        finish(id, .failure(NetworkError(.cancelled, phase: .receiving, message: "cancelled")))
    }

    func suspend(_ id: TransferID) {}
    func resume(_ id: TransferID) {}
    func shutdown() async {}

    private func finish(_ id: TransferID, _ outcome: Result<Void, NetworkError>) {
        guard let (transfer, sink) = state.withLock({ $0.held.removeValue(forKey: id.number) }) else { return }
        WorkPool.shared.submit([
            {
                let batch = DeliveryBatch()
                switch outcome {
                case .success:
                    let head = ResponseHead(status: 200)
                    _ = sink.transfer(transfer.id, didReceive: head, batch: batch)
                    sink.transfer(transfer.id, didFinishWith: TransferResult(head: head, body: Data()), batch: batch)
                case .failure(let error):
                    sink.transfer(transfer.id, didFinishWith: TransferResult(error: error), batch: batch)
                }
                batch.end()
            }
        ])
    }
}

/// Says when it is destroyed.
private final class Probe: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
}
