import Foundation
import Persistence
import ScopedNetTestServer

@testable import ScopedNet

/// A wall clock that a test sets.
final class WallClock: Sendable {
    private let time = Lock(WallTime.now)
    var now: WallTime { time.withLock { $0 } }
    func advance(_ seconds: Double) { time.withLock { $0 = $0 + seconds } }
}

/// A session with a cache, and the server it talks to.
struct CachedWire {
    let wire: Wire
    let cache: ResponseCache
    let clock: WallClock
    var server: LoopbackServer { wire.server }

    func get(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) async throws -> Response<Data> {
        try await wire.get(path, change).response()
    }
}

/// A cache in a folder of its own, closed and removed at the end.
func withCache(
    _ configure: (inout Session.Configuration) -> Void = { _ in }, _ body: (CachedWire) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clock = WallClock()
    let cache = ResponseCache(StoreConfiguration(directory: folder)) { clock.now }
    try await withWire {
        $0.cache = cache
        configure(&$0)
    } _: { wire async throws in
        try await body(CachedWire(wire: wire, cache: cache, clock: clock))
    }
    await cache.store.close()
}
