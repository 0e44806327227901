import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer
import SystemSupport
import Testing

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
    /// Of the store.
    let folder: String
    var server: LoopbackServer { wire.server }

    /// Until so many wait for what others are getting.
    func untilFollowed(by count: Int = 1) async {
        while cache.coalescer.followerCount < count { await Task.yield() }
    }

    func get(_ path: String = "/", _ change: (inout RequestOptions) -> Void = { _ in }) async throws -> Response<Data> {
        try await wire.get(path, change).response()
    }

    /// The bodies that are files, when everything that waits has been written and memory has nothing.
    func bodyFiles() async throws -> [String] {
        await cache.store.relieveMemory()
        let names = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasPrefix("bodies") && $0.split(separator: "/").count == 3 }.map { "\(folder)/\($0)" }
    }

    /// Changes a byte of the only body that is a file.
    func damageBody(at offset: UInt64) async throws {
        let file = try #require(try await bodyFiles().first)
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: file))
        try handle.seek(toOffset: offset)
        let old = try #require(try handle.read(upToCount: 1)?.first)
        try handle.seek(toOffset: offset)
        try handle.write(contentsOf: Data([old ^ 1]))
        try handle.close()
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
        try await body(CachedWire(wire: wire, cache: cache, clock: clock, folder: folder))
    }
    await cache.store.close()
}

/// Good for so many seconds.
func fresh(_ text: String, _ seconds: Int = 60, tag: String? = nil) -> ScriptedResponse {
    var response = ScriptedResponse.ok(text).header("Cache-Control", "max-age=\(seconds)")
    if let tag { response = response.header("ETag", tag) }
    return response
}
