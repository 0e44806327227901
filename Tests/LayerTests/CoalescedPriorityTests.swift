import CleanSlate
import ScopedNet
import ScopedNetTesting
import Synchronization
import Testing

/// Priorities that change while several wait for one piece of work, and work that waits for other work.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct CoalescedPriorityTests {
    private typealias Texts = RequestCoalescer<String, String>

    private final class Seen: Sendable {
        private let all = Mutex<[Priority]>([])
        func add(_ priority: Priority) { all.withLock { $0.append(priority) } }
        var last: Priority? { all.withLock { $0.last } }
    }

    private func session() -> Session { MockTransport.session("http://layer.test/", unanswered: .wait) }

    @Test func aMemberBecomesMoreUrgentAndLess() async {
        let (session, texts, seen) = (session(), Texts(), Seen())
        let callback = Callback<Result<String, any Error>> { _ in }
        let work: @Sendable (CoalescedWork) async throws -> String = { [session] work in
            work.carry { seen.add($0) }
            return try await work.value(of: session.get("p", as: String.self))
        }
        let first = texts.join("p", of: session, priority: .low, to: callback, work: work)
        let second = texts.join("p", of: session, priority: .low, to: Callback { _ in }, work: work)
        await session.mock.waitForExchanges(1)
        #expect(seen.last == .low)
        texts.setPriority(.high, of: second, for: "p")
        #expect(seen.last == .high)
        texts.setPriority(.normal, of: first, for: "p")
        #expect(seen.last == .high)
        texts.setPriority(.low, of: second, for: "p")
        #expect(seen.last == .normal)
        // Of another key, and of one that has left, nothing changes.
        texts.setPriority(.high, of: first, for: "q")
        second.cancel()
        texts.setPriority(.high, of: second, for: "p")
        #expect(seen.last == .normal)
        first.cancel()
        await session.agent.waitUntilIdle()
    }

    @Test func workWaitsForOtherWorkAsUrgentlyAsItIs() async {
        let (session, inner, outer, seen) = (session(), Texts(), Texts(), Seen())
        let joined = ["a", "b"].map { name in
            outer.join(name, of: session, priority: .low, to: Callback { _ in }) { [session] asker in
                try await inner.value("p", of: session, for: asker) { [session] work in
                    work.carry { seen.add($0) }
                    return try await work.value(of: session.get("p", as: String.self))
                } + name
            }
        }
        await session.mock.waitForExchanges(1)
        #expect(seen.last == .low)
        outer.setPriority(.high, of: joined[1], for: "b")
        // Until its work has come so far, and the change through both.
        while seen.last != .high { await Task.yield() }
        joined[1].cancel()
        _ = await joined[1].outcome()
        while seen.last != .low { await Task.yield() }
        session.mock.exchanges.first?.respond(.ok("text"))
        guard case .succeeded = await joined[0].outcome() else {
            Issue.record("the other one goes on")
            return
        }
        #expect(session.mock.exchanges.count == 1)
        await session.agent.waitUntilIdle()
    }

    @Test func theWaitEndsWithEachCancelAndError() async {
        let (session, inner, outer) = (session(), Texts(), Texts())
        session.mock.on("gone", .status(404))
        let errors = Mutex<[String]>([])
        func wait(for path: String) -> ScopedOperation {
            outer.join(
                path, of: session,
                to: Callback { result in
                    if case .failure(let error) = result {
                        errors.withLock { $0.append("\((error as? NetworkError)?.code.description ?? "\(error)")") }
                    }
                }
            ) { [session] asker in
                try await inner.value(path, of: session, for: asker) { [session] work in
                    try await work.value(of: session.get(path, as: String.self))
                }
            }
        }
        _ = await wait(for: "gone").outcome()
        #expect(errors.withLock { $0 } == ["unacceptableStatus"])
        let waiting = wait(for: "p")
        await session.mock.waitForExchanges(2)
        waiting.cancel()
        _ = await waiting.outcome()
        await session.agent.waitUntilIdle()
        // The end of a session is one for those who wait for others, too.
        let last = wait(for: "q")
        await session.mock.waitForExchanges(3)
        await session.shutdown(cancelling: true)
        guard case .cancelled(.shutdown) = await last.outcome() else {
            Issue.record("it ended otherwise")
            return
        }
    }
}
