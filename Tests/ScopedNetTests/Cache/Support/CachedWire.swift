import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer

@testable import ScopedNet

/// A clock that a test sets.
final class WallClock: Sendable {
    private let time = Lock(WallTime.now)
    var now: WallTime { time.withLock { $0 } }
    func advance(_ seconds: Double) { time.withLock { $0 = $0 + seconds } }
}

/// A session with a cache, its server, and the cache's clock.
struct CachedWire {
    let wire: Wire
    let cache: ResponseCache
    let clock: WallClock
    var server: LoopbackServer { wire.server }

    /// Until so many wait for what others are getting.
    func untilFollowed(by count: Int = 1) async {
        while cache.flights.followerCount < count { await Task.yield() }
    }

    func get(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) async throws -> Response<Data> {
        try await wire.get(path, change).response()
    }
}

/// A session with an empty cache, before a scripted server.
func withCache(
    _ configure: (inout Session.Configuration) -> Void = { _ in }, store: (inout StoreConfiguration) -> Void = { _ in },
    _ body: (CachedWire) async throws -> Void
) async throws {
    let folder = FileManager.default.temporaryDirectory.path + "/cache-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let clock = WallClock()
    var settings = StoreConfiguration(directory: folder)
    store(&settings)
    let cache = ResponseCache(settings) { clock.now }
    try await withWire {
        $0.cache = cache
        configure(&$0)
    } _: { wire async throws in
        try await body(CachedWire(wire: wire, cache: cache, clock: clock))
    }
    await cache.store.close()
}

/// Good for so many seconds.
func fresh(_ text: String, _ seconds: Int = 60, tag: String? = nil) -> ScriptedResponse {
    var response = ScriptedResponse.ok(text).header("Cache-Control", "max-age=\(seconds)")
    if let tag { response = response.header("ETag", tag) }
    return response
}
