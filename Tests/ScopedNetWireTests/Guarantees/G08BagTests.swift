import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// G8: the bag.
@Suite(.leavesNothing) struct G08BagTests {
    // S2-1
    @Test func itKeepsNeitherHandleNorOwnerAlive() async throws {
        final class Owner { let bag = DeallocBag() }
        try await withStage { session, stage in
            weak var weakOwner: Owner?
            weak var weakRequest: Request<Data>?
            do {
                let owner = Owner()
                weakOwner = owner
                let request = session.request("http://h/")
                weakRequest = request
                request.start(in: owner.bag)
                await stage.waitForStarts(1)
            }
            #expect(weakOwner == nil)
            #expect(weakRequest == nil)
        }
    }

    // S2-2
    @Test func aRunLeavesItsBagWhenItEnds() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("x"))
            let bag = DeallocBag()
            let inside = Lock<[Int]>([])
            for _ in 0..<20 {
                house.session.request(house.url("/a")).onSuccess { _ in
                    let count = bag.count; inside.withLock { $0.append(count) }
                }.start(in: bag)
                await house.agent.waitUntilIdle()
            }
            #expect(inside.withLock { $0 } == Array(repeating: 0, count: 20))
            #expect(bag.count == 0)
        }
    }

    // S2-1, CT-6, defects 51, 59
    @Test(arguments: [1, 10, 255, 300, 5_000])
    func itsEndCancelsEveryMemberAndClosesAllGatesFirst(count: Int) async throws {
        try await withStage { session, stage in
            let trace = Trace()
            var bag: DeallocBag? = DeallocBag()
            let storage = bag!.storage
            let openSiblings = Lock(0)
            for _ in 0..<count {
                // When the first closure is destroyed, every sibling's gate must be closed already.
                let probe = Probe {
                    if !storage.isClosed { openSiblings.withLock { $0 += 1 } }
                }
                session.request("http://h/").onSuccess { _ in
                    _ = probe; trace.add("late")
                }.onEnd { if $0.isCancelled { trace.add("end") } }
                    .start(in: bag!)
            }
            #expect(bag?.count == count)
            bag = nil
            await session.agent.waitUntilIdle()
            #expect(trace.lines.count == count)
            #expect(trace.count("end") == count)
            #expect(openSiblings.withLock { $0 } == 0)
            _ = stage
        }
    }

    final class Probe: Sendable {
        let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }

    /// A closure that is let go by the bag's end finds all its siblings cancelled, whichever is torn down first.
    @Test func allGatesCloseBeforeAnythingIsTornDown() async throws {
        final class Probe: Sendable {
            let look: @Sendable () -> Void
            init(_ look: @escaping @Sendable () -> Void) { self.look = look }
            deinit { look() }
        }
        try await withStage { session, stage in
            let bag = DeallocBag()
            let runs = Lock<[Run]>([])
            let seen = Trace()
            for _ in 0..<3 {
                let probe = Probe {
                    let siblings = runs.withLock { $0 }
                    seen.add("\(siblings.count) \(siblings.allSatisfy { $0.status.stage == .cancelled })")
                }
                let run = session.request("http://h/").onSuccess { _ in _ = probe }.start(in: bag)
                runs.withLock { $0.append(run) }
            }
            await stage.waitForStarts(3)
            bag.end()
            #expect(seen.lines == ["3 true", "3 true", "3 true"])
            runs.withLock { $0 = [] }
            await session.agent.waitUntilIdle()
        }
    }

    // Defect 51
    @Test func insertingIntoAnEndedBagCancelsAtOnce() async throws {
        try await withStage { session, stage in
            let bag = DeallocBag()
            bag.end()
            let trace = Trace()
            #expect(bag.isEnded)
            session.request("http://h/").onEnd { if case .cancelled(let reason) = $0 { trace.add("\(reason)") } }.start(in: bag)
            bag.insert(AnyCancellable { trace.add("foreign") })
            let task = bag.task { trace.add(Task.isCancelled ? "task cancelled" : "task runs") }
            await task.value
            await session.agent.waitUntilIdle()
            #expect(stage.started.isEmpty)
            #expect(Set(trace.lines) == ["owner released", "foreign", "task cancelled"])
        }
    }

    @Test func childrenEndWithTheirParentAndAlsoAlone() async throws {
        try await withStage({ $0.limits.perHost = 100 }) { session, stage in
            let trace = Trace()
            let parent = DeallocBag()
            let one = parent.child()
            let two = one.child()
            for (name, bag) in [("parent", parent), ("one", one), ("two", two)] {
                session.request("http://h/").onEnd { _ in trace.add(name) }.start(in: bag)
            }
            await stage.waitForStarts(3)
            #expect(parent.count == 2)
            two.end()
            await trace.wait(for: 1)
            #expect(trace.lines == ["two"])
            #expect(one.isEnded == false)
            parent.end()
            await session.agent.waitUntilIdle()
            #expect(Set(trace.lines) == ["parent", "one", "two"])
            #expect(one.isEnded)
            session.request("http://h/").onEnd { _ in trace.add("late") }.start(in: one)
            await session.agent.waitUntilIdle()
            #expect(stage.started.count == 3)
        }
    }

    /// On a thread with a small stack, where one call within the other for each bag would be the end of the program.
    @Test(arguments: [false, true]) func bagsMayBeNestedAsDeepAsTheProgramLikes(isCancelledOnly: Bool) async throws {
        try await withStage { session, stage in
            let ends = Trace()
            await onSmallStack {
                var bags = [DeallocBag(label: "top")]
                for _ in 0..<2_000 { bags.append(bags[bags.count - 1].child(label: "deeper")) }
                session.request("http://h/").onEnd { if case .cancelled(let reason) = $0 { ends.add("\(reason)") } }.start(
                    in: bags[bags.count - 1])
                if isCancelledOnly { bags[0].cancelAll() } else { bags.removeFirst() }
                #expect(bags.suffix(2).allSatisfy { $0.isEnded && $0.count == 0 })
            }
            await session.agent.waitUntilIdle()
            #expect(ends.lines == [isCancelledOnly ? "explicit" : "owner released"])
        }
    }

    private func onSmallStack(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            let thread = Thread {
                work()
                continuation.resume()
            }
            thread.stackSize = 192 << 10
            thread.start()
        }
    }

    @Test func aRunMayBeInSeveralBagsAndTheFirstToEndCancelsIt() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let first = DeallocBag()
            let second = DeallocBag()
            let run = session.request("http://h/").onEnd { trace.add("end \($0.isCancelled)") }.start(in: first)
            run.store(in: second)
            #expect(second.count == 1)
            await stage.waitForStarts(1)
            second.end()
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["end true"])
            #expect(first.count == 0)
        }
    }

    // S2-2
    @Test func aForeignItemIsHeldAndItsTokenTakesItOut() async {
        let bag = DeallocBag()
        let trace = Trace()
        let token = bag.insert(AnyCancellable { trace.add("one") })
        bag.insert(AnyCancellable { trace.add("two") })
        #expect(bag.count == 2)
        token.remove()
        token.remove()
        #expect(bag.count == 1)
        #expect(bag.cancelAll().cancelled == 1)
        #expect(trace.lines == ["two"])
        #expect(bag.isEnded == false)
    }

    // S2-2
    @Test func aFinishedTaskUnlinks() async {
        let bag = DeallocBag()
        await bag.task {}.value
        #expect(bag.count == 0)
        let started = Latch()
        let task = bag.task {
            started.open()
            await withTaskCancellationHandler {
                await Latch().waitUntilCancelled()
            } onCancel: {
            }
        }
        await started.wait()
        bag.end()
        await task.value
        #expect(bag.count == 0)
    }

    // Defect 49
    @Test func aMillionRequestsLeaveAnOldBagSmall() async throws {
        let rounds = ProcessInfo.processInfo.environment["SCOPEDNET_SOAK"] == "1" ? 1_000_000 : 20_000
        let bag = DeallocBag()
        for _ in 0..<rounds {
            let token = bag.insert(AnyCancellable {})
            token.remove()
        }
        #expect(bag.count == 0)
    }
}

extension Latch {
    /// Waits until the task is cancelled.
    func waitUntilCancelled() async {
        await withTaskCancellationHandler {
            await wait()
        } onCancel: {
            open()
        }
    }
}
