import CleanSlate
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// A hit from memory ends its `await` on the caller's thread, while a cancellation comes on another.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct CacheHitRaceTests {
    /// Each run is counted out once, or nobody is ever idle again.
    @Test func aTaskThatIsCancelledAlreadyIsCountedOut() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .ok("kept").header("Cache-Control", "max-age=60"))
            _ = try await cached.get()
            let request = cached.wire.get()
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<200 {
                            let task = Task {
                                withUnsafeCurrentTask { $0?.cancel() }
                                _ = try? await request.value()
                            }
                            await task.value
                        }
                    }
                }
            }
            await cached.wire.agent.waitUntilIdle()
            #expect(cached.wire.agent.liveCount == 0)
            #expect(cached.server.requests.count == 1)
        }
    }

    @Test func aBagThatEndsMeanwhileIsCountedOut() async throws {
        try await withCache { cached async throws in
            cached.server.on("/", .ok("kept").header("Cache-Control", "max-age=60"))
            _ = try await cached.get()
            let request = cached.wire.get()
            for _ in 0..<300 {
                let bag = DeallocBag()
                async let end = bag.end()
                _ = try? await request.value(in: bag)
                _ = await end
            }
            await cached.wire.agent.waitUntilIdle()
            #expect(cached.wire.agent.liveCount == 0)
        }
    }
}
