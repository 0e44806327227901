import CleanSlate
import OpenCombine
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

/// The sample of a publisher over a request, with OpenCombine.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct PublisherTests {
    private final class Events: Sendable {
        let all = Lock<[String]>([])
        func add(_ event: String) { all.withLock { $0.append(event) } }

        func observe(_ publisher: some Publisher<String, NetworkError>) -> OpenCombine.AnyCancellable {
            publisher.sink { [self] completion in
                switch completion {
                case .finished: add("finished")
                case .failure(let error): add("\(error.code)")
                }
            } receiveValue: { [self] in
                add($0)
            }
        }
    }

    @Test func eachSubscriptionHasARunOfItsOwn() async {
        let session = MockTransport.session("http://hn.test/")
        session.mock.on(.get, "word", [.status(200, "one"), .status(200, "two"), .status(404)])
        let publisher = session.get("word", as: String.self).publisher
        let events = Events()
        for _ in 0..<3 {
            let subscription = events.observe(publisher)
            await session.agent.waitUntilIdle()
            withExtendedLifetime(subscription) {}
        }
        #expect(events.all.withLock { $0 } == ["one", "finished", "two", "finished", "unacceptableStatus"])
    }

    @Test func theEndOfTheSubscriptionCancelsTheRun() async {
        let session = MockTransport.session("http://hn.test/", unanswered: .wait)
        let events = Events()
        var subscription: OpenCombine.AnyCancellable? = events.observe(session.get("word", as: String.self).publisher)
        #expect(session.agent.liveCount == 1)
        subscription?.cancel()
        subscription = nil
        await session.agent.waitUntilIdle()
        #expect(events.all.withLock { $0 }.isEmpty)
    }
}
