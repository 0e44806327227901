import CleanSlate
import Dispatch
import Foundation
import ScopedNetTesting
import Synchronization
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// Operations, coalesced work, channels and readers of bodies, used, ended and cancelled by several threads at once: each ends once, and says nothing after a
/// cancel that has answered `.cancelled`.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct LayerHammerTests {
    private final class Tally: Sendable {
        let calls = Atomic(0)
        let lateCalls = Atomic(0)
        let ends = Atomic(0)
        let cancels = Atomic(0)
        let isSilent = Atomic(false)

        func call() {
            calls.add(1, ordering: .sequentiallyConsistent)
            if isSilent.load(ordering: .sequentiallyConsistent) { lateCalls.add(1, ordering: .sequentiallyConsistent) }
        }
        func fallSilent(_ isCancelled: Bool) { if isCancelled { isSilent.store(true, ordering: .sequentiallyConsistent) } }
        func count(_ word: borrowing Atomic<Int>) -> Int { word.load(ordering: .sequentiallyConsistent) }
    }

    /// The members of one round, and how often each was told.
    private final class Table: Sendable {
        private let state = Lock((members: [ScopedOperation](), heard: [0, 0, 0, 0]))
        var members: [ScopedOperation] { state.withLock { $0.members } }
        var heard: [Int] { state.withLock { $0.heard } }
        func add(_ member: ScopedOperation) { state.withLock { $0.members.append(member) } }
        func hear(_ member: Int) { state.withLock { $0.heard[member] += 1 } }
    }

    /// Rounds, each with four threads.
    private static let rounds = 1_000

    @Test(.onOwnThread) func operations() async {
        let session = MockTransport.session("http://hammer.test/")
        for round in 0..<Self.rounds {
            let (tally, bag) = (Tally(), DeallocBag())
            let operation = ScopedOperation(
                in: bag, of: session, onEnd: Callback { _ in tally.ends.add(1, ordering: .sequentiallyConsistent) }
            ) { _ in tally.cancels.add(1, ordering: .sequentiallyConsistent) }
            let progress = Callback<Int> { _ in tally.call() }
            let onMain = Callback<Int> { @MainActor _ in tally.call() }
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                switch thread {
                case 0: operation.send(1, to: progress)
                case 1: operation.finish(with: 2, to: onMain)
                case 2: if round % 4 == 0 { operation.finish(with: 3, to: progress) } else { operation.send(3, to: onMain) }
                default:
                    switch round % 3 {
                    case 0: tally.fallSilent(operation.cancel() == .cancelled)
                    case 1: tally.fallSilent(bag.end().cancelled == 1)
                    default: break
                    }
                }
            }
            let outcome = await operation.outcome()
            await session.agent.waitUntilIdle()
            let isCancelled = if case .cancelled = outcome { 1 } else { 0 }
            #expect(tally.count(tally.ends) == 1 && tally.count(tally.cancels) == isCancelled && tally.count(tally.lateCalls) == 0)
            #expect(bag.count == 0 && operation.steps.isEnded)
        }
        await session.shutdown()
    }

    @Test(.onOwnThread) func coalescedWork() async {
        let session = MockTransport.session("http://hammer.test/")
        let coalescer = RequestCoalescer<Int, Int>()
        for round in 0..<Self.rounds {
            let (table, works) = (Table(), Tally())
            DispatchQueue.concurrentPerform(iterations: 4) { thread in
                let member = coalescer.join(
                    round % 2, of: session, priority: Priority.allCases[thread],
                    to: Callback { _ in table.hear(thread) }
                ) { work in
                    works.call()
                    for _ in 0..<(round % 3) { await Task.yield() }
                    return Int(work.priority.level)
                }
                table.add(member)
                if thread < round % 4 { member.cancel() }
            }
            var cancelled = 0
            for member in table.members { if case .cancelled = await member.outcome() { cancelled += 1 } }
            await session.agent.waitUntilIdle()
            let counts = table.heard
            #expect(counts.allSatisfy { $0 <= 1 } && counts.reduce(0, +) + cancelled == 4)
            #expect(coalescer.followerCount == 0 && works.count(works.calls) <= 4)
        }
        await session.shutdown()
    }

    @Test func channels() async throws {
        let session = MockTransport.session("http://hammer.test/")
        for round in 0..<Self.rounds / 2 {
            let bag = DeallocBag()
            async let opened = try? DuplexChannel.open("socket", with: session, in: bag)
            let server = await session.mock.channel(round)
            if round % 5 == 0 { bag.end() }
            guard let channel = await opened else { continue }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for number in 0..<8 { try? await channel.send(Data([UInt8(number)])) } }
                group.addTask { while let data = await server.receive() { await server.send(data) } }
                group.addTask {
                    var count = 0
                    do { for try await piece in channel.bytes { count += piece.count } } catch {}
                    #expect(count <= 8)
                }
                group.addTask {
                    for _ in 0..<(round % 7) { await Task.yield() }
                    switch round % 4 {
                    case 0: channel.close()
                    case 1: channel.cancel()
                    case 2: bag.end()
                    default: server.close()
                    }
                }
            }
            await session.agent.waitUntilIdle()
        }
        await session.shutdown()
    }

    @Test func readersOfBodies() async throws {
        let session = MockTransport.session("http://hammer.test/", unanswered: .wait)
        for round in 0..<Self.rounds / 2 {
            let (bag, tally) = (DeallocBag(), Tally())
            let run = session.get("\(round)").onBody(window: 4) { _, body in
                defer { tally.call() }
                if round % 5 == 0 { return }
                for try await _ in body where round % 5 == 1 { break }
            }.start(in: bag)
            let exchange = await session.mock.exchange(round)
            DispatchQueue.concurrentPerform(iterations: 2) { thread in
                if thread == 0 {
                    exchange.receiveHead()
                    for _ in 0..<4 { exchange.receive(Data(repeating: 7, count: 5)) }
                    exchange.finish()
                } else {
                    switch round % 3 {
                    case 0: run.cancel()
                    case 1: bag.end()
                    default: break
                    }
                }
            }
            await session.agent.waitUntilIdle()
            await bag.waitUntilIdle()
            #expect(bag.count == 0 && tally.count(tally.calls) <= 1)
        }
        await session.shutdown()
    }
}
