import CleanSlate
import Synchronization
import SystemSupport
import Testing

@testable import ScopedNet

/// Several requests at once, without a session.
@Suite(.leavesNothing) struct ConcurrentRequestsTests {
    private static let failure = NetworkError(.connectionLost, phase: .receiving, message: "lost")

    @Test func valuesComeInTheOrderOfTheRequests() async throws {
        let values = try await ConcurrentRequests.values(of: [3, 1, 2], atMost: 2) { number in
            for _ in 0..<number { await Task.yield() }
            return .success(number * 10)
        }
        #expect(values == [30, 10, 20])
        #expect(try await ConcurrentRequests.values(of: [Int](), atMost: 1) { .success($0) }.isEmpty)
    }

    @Test(arguments: [0, 1, 3]) func noMoreThanTheLimitRunAtATime(_ limit: Int) async throws {
        let running = Lock((now: 0, most: 0))
        _ = try await ConcurrentRequests.values(of: Array(0..<20), atMost: limit) { number in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            return .success(number)
        }
        #expect(running.withLock { $0.most } <= max(1, limit))
    }

    @Test func theFirstErrorEndsTheOthers() async {
        let cancelled = Lock(0)
        await #expect(throws: NetworkError.self) {
            try await ConcurrentRequests.values(of: [0, 1, 2], atMost: .max) { number -> Result<Int, NetworkError> in
                if number == 1 { return .failure(Self.failure) }
                while !Task.isCancelled { await Task.yield() }
                cancelled.withLock { $0 += 1 }
                return .failure(.cancelled(.taskCancelled, runID: 0, phase: .receiving))
            }
        }
        #expect(cancelled.withLock { $0 } == 2)
    }
}
