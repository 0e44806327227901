import CleanSlate
import Glibc
@_spi(Census) import ScopedNet
import ScopedNetTesting
import Testing

/// What leak tests cost, printed: figures are for reading, never a reason to fail.
@Suite(.leavesNothing(objects: false), .serialized) struct CensusCostTests {
    private func nanoseconds(_ count: Int, _ body: () -> Void) -> Double {
        let best = (0..<5).map { _ in
            ContinuousClock().measure { for _ in 0..<count { body() } } / .nanoseconds(1)
        }.min()
        return (best ?? 0) / Double(count)
    }

    private func text(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

    /// Other suites of the process may listen meanwhile; run it alone for the figure without a listener.
    @Test func figures() async throws {
        let counters = nanoseconds(100_000) {
            LiveObjects.born(.timer)
            LiveObjects.died(.timer)
        }
        let ticket = nanoseconds(100_000) { _ = Census.ticket() }
        let bag = nanoseconds(20_000) { _ = DeallocBag(label: "x") }
        let census = LeakCensus()
        let watched = nanoseconds(20_000) { census.listen { _ = DeallocBag(label: "x") } }
        print("cost: an object counted and forgotten \(text(counters)) ns; asked whether a census listens \(text(ticket)) ns")
        print("cost: a bag \(text(bag)) ns, watched by a census \(text(watched)) ns")

        // A test with one session, one request and one bag under `.noLeaks`, against the same without.
        let work: @Sendable () async throws -> Void = {
            let session = mockedSession(MockTransport { _ in .ok() })
            _ = try await session.request("http://h/").value(in: DeallocBag())
        }
        let test = try #require(Test.current)
        let trait: NoLeaksTrait = .noLeaks
        let rounds = 200
        func milliseconds(_ body: () async throws -> Void) async rethrows -> Double {
            let start = ContinuousClock.now
            for _ in 0..<rounds { try await body() }
            return (ContinuousClock.now - start) / .milliseconds(1) / Double(rounds)
        }
        let plain = try await milliseconds { try await work() }
        let checked = try await milliseconds { try await trait.provideScope(for: test, testCase: nil, performing: work) }
        print("cost: a test \(text(plain * 1000)) µs, under .noLeaks \(text(checked * 1000)) µs")
    }
}
