import CleanSlate
import Dispatch
import ScopedNetTesting
import Synchronization
import SystemSupport
import Testing

@testable import ScopedNet

/// Operations under races: each ends once, and is silent after its cancel.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct ScopedOperationTests {
    private final class Facts: Sendable {
        let calls = Atomic<Int>(0)
        let ends = Atomic<Int>(0)
        let cancels = Atomic<Int>(0)
        let lateCalls = Atomic<Int>(0)
        let isSilent = Atomic<Bool>(false)

        func call() {
            calls.add(1, ordering: .sequentiallyConsistent)
            if isSilent.load(ordering: .sequentiallyConsistent) { lateCalls.add(1, ordering: .sequentiallyConsistent) }
        }
    }

    /// Progress, an end, a cancel and the end of the bag at once, in every order that the machine makes of it.
    @Test(.onOwnThread) func eachEndsOnce() async {
        let session = MockTransport.session("http://layer.test/")
        for round in 0..<2_000 {
            let facts = Facts()
            let bag = DeallocBag()
            weak var watched: Canary?
            do {
                let canary = Canary()
                watched = canary
                let operation = ScopedOperation(
                    in: bag, of: session, onEnd: Callback { _ in facts.ends.add(1, ordering: .sequentiallyConsistent) }
                ) { _ in facts.cancels.add(1, ordering: .sequentiallyConsistent) }
                let progress = Callback<Int> { [canary] _ in
                    withExtendedLifetime(canary) {}
                    facts.call()
                }
                DispatchQueue.concurrentPerform(iterations: 4) { thread in
                    switch thread {
                    case 0: operation.send(1, to: progress)
                    case 1:
                        operation.finish(
                            with: 1,
                            to: Callback { [canary] _ in
                                withExtendedLifetime(canary) {}
                                facts.call()
                            })
                    case 2:
                        if round % 3 == 0, operation.cancel() == .cancelled {
                            facts.isSilent.store(true, ordering: .sequentiallyConsistent)
                        }
                    default: if round % 3 == 1, bag.end().cancelled == 1 { facts.isSilent.store(true, ordering: .sequentiallyConsistent) }
                    }
                }
                progress.discard()
                await session.agent.waitUntilIdle()
                let isCancelled = if case .cancelled = await operation.outcome() { true } else { false }
                #expect(facts.ends.load(ordering: .sequentiallyConsistent) == 1)
                #expect(facts.cancels.load(ordering: .sequentiallyConsistent) == (isCancelled ? 1 : 0))
                #expect(facts.lateCalls.load(ordering: .sequentiallyConsistent) == 0)
                #expect(bag.count == 0 && operation.steps.isEnded)
            }
            #expect(watched == nil, "a closure was not destroyed")
        }
        await session.shutdown()
    }

    /// On the executor of its callbacks a cancel leaves nothing to come (G4).
    @MainActor @Test func aCancelFromWithinACall() async {
        let session = MockTransport.session("http://layer.test/")
        let log = Gathered<String>()
        let operation = ScopedOperation(of: session, onEnd: Callback { @MainActor _ in log.add("end") }) { _ in log.add("cancel") }
        operation.send(
            0,
            to: Callback<Int> { @MainActor _ in
                log.add("call")
                #expect(operation.cancel() == .callbackRunning)
                #expect(!operation.isRunning && operation.steps.isEnded)
                log.add("back")
            })
        operation.send(1, to: Callback<Int> { @MainActor _ in log.add("second") })
        operation.finish(with: 2, to: Callback<Int> { @MainActor _ in log.add("last") })
        await session.agent.waitUntilIdle()
        #expect(log.all == ["call", "back", "cancel", "end"])
        await session.shutdown()
    }

    /// A bag of operations calls none of them after its first pass, whatever their own cancels do.
    @Test func allAreSilentBeforeTheFirstIsTornDown() async {
        let session = MockTransport.session("http://layer.test/")
        let bag = DeallocBag()
        let all = Gathered<ScopedOperation>()
        let wrong = Atomic<Int>(0)
        for _ in 0..<10 {
            all.add(
                ScopedOperation(in: bag, of: session) { _ in
                    if all.all.contains(where: \.isRunning) { wrong.add(1, ordering: .relaxed) }
                })
        }
        #expect(bag.end().cancelled == 10)
        #expect(wrong.load(ordering: .relaxed) == 0)
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }

    /// An operation that is never finished is a finding of the leak check, with the line where it began.
    @Test func oneThatIsForgottenIsReported() async throws {
        let session = Census.unseen { MockTransport.session("http://layer.test/") }
        let census = LeakCensus()
        let line = #line + 1
        let operation = census.listen { ScopedOperation(of: session, tag: "sync") }
        let leak = try #require(census.report().leaks.first { $0.kind == .operation })
        #expect(leak.verdict == .inFlight && leak.origin.hasSuffix(":\(line)"))
        #expect(leak.description.contains("operation sync") && leak.description.contains("its agent"))
        operation.finish()
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }
}
