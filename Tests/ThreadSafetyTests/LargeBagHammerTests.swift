import CleanSlate
import Foundation
import Synchronization
import Testing

@_spi(Transport) @testable import ScopedNet

/// Bags with hundreds of members die, each on a thread of its own, while their members start, wait, are answered and cancelled: such a bag is
/// torn down by several threads at once.
@Suite(.leavesNothing(objects: false), .aloneBesideServers) struct LargeBagHammerTests {
    private final class Tally: Sendable {
        let ended = Atomic(0)
        let late = Atomic(0)
    }

    @Test func manyDieAtOnce() async throws {
        let (threads, rounds, members) = (4, 12, 600)
        let chaos = ChaosTransport()
        var configuration = Session.Configuration(customTransport: chaos, agent: RequestAgent())
        configuration.limits.perHost = 4
        configuration.limits.total = 8
        let session = Session(configuration: configuration)
        let tally = Tally()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    await withCheckedContinuation { continuation in
                        Thread.detachNewThread {
                            for _ in 0..<rounds { Self.round(members, host: thread % 3, session, tally) }
                            continuation.resume()
                        }
                    }
                }
            }
        }
        await session.agent.waitUntilIdle()
        chaos.settle()
        #expect(tally.ended.load(ordering: .relaxed) == threads * rounds * members)
        #expect(tally.late.load(ordering: .relaxed) == 0)
        #expect(session.agent.liveCount == 0)
        #expect(session.admission.waitingCount == 0)
        #expect(session.admission.activeCount == 0)
    }

    private static func round(_ members: Int, host: Int, _ session: Session, _ tally: Tally) {
        let bag = DeallocBag()
        for number in 0..<members {
            let mark = Mark()
            let run = session.request("http://chaos\(host)/").onSuccess { _ in mark.called(tally) }.onFailure { _ in mark.called(tally) }
                .onEnd { _ in
                    mark.end()
                    tally.ended.add(1, ordering: .relaxed)
                }
                .start(in: bag)
            if number % 50 == 7 { run.cancel() }
        }
    }

    private final class Mark: Sendable {
        private let isOver = Atomic(false)
        func end() { isOver.store(true, ordering: .sequentiallyConsistent) }
        func called(_ tally: Tally) {
            if isOver.load(ordering: .sequentiallyConsistent) { tally.late.add(1, ordering: .relaxed) }
        }
    }
}
