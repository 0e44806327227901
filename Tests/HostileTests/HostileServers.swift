import Foundation
import Glibc
import ScopedNet
import ScopedNetTestServer
import SystemSupport
import TestProcesses

/// The servers that a probe asks: one for its scenario, one for the requests that have nothing to do with it.
final class HostileServers: Sendable {
    let hostile = LoopbackServer(Configuration.unrecorded)
    let unrelated = LoopbackServer(Configuration.unrecorded)
    private let tried = Lock<Set<String>>([])

    typealias Configuration = LoopbackServer.Configuration

    func start() async throws {
        try await hostile.start()
        try await unrelated.start()
        unrelated.on("/json", .json("[1, 2, 3]"))
        unrelated.on("/never", .ok().stalling(.beforeHead))
        hostile.on("/quick", .ok("quick"))
        hostile.on("/once") { [self] request in
            let isFirst = tried.withLock { $0.insert("once " + (request.query ?? "")).inserted }
            return isFirst ? .ok("once") : .status(409)
        }
        hostile.on("/small", .ok("new"))
        hostile.on("/large", .ok(.repeating(7, count: 8 << 20)))
        hostile.on("/endless", .ok(.repeating(7, count: 1 << 27)).paced(bytes: 16 << 10, every: .milliseconds(10)))
        hostile.on("/never", .ok().stalling(.beforeHead))
        hostile.on("/stall", .ok("0123456789").stalling(.afterBytes(4)))
        hostile.on("/late", .ok("late").delayed(by: .seconds(1)))
        hostile.on("/drip", .ok(.repeating(7, count: ProbeRoutes.dripBytes)).paced(bytes: 1 << 14, every: .milliseconds(50)))
        hostile.on("/short-drip", .ok(.repeating(7, count: 20 << 10)).paced(bytes: 1 << 10, every: .milliseconds(50)))
        hostile.on("/upload", .ok("thanks"))
        hostile.on("/cacheable/*", .ok(.repeating(7, count: 20 << 10)).header("Cache-Control", "max-age=60").header("ETag", "\"1\""))
        hostile.on("/cookie") { .ok().header("Set-Cookie", "probe=\($0.query ?? ""); Max-Age=3600") }
        hostile.on("/retry") { [self] request in
            let isFirst = tried.withLock { $0.insert(request.query ?? "").inserted }
            return isFirst ? .status(503) : .ok("second try")
        }
    }

    func stop() async {
        await hostile.stop()
        await unrelated.stop()
    }
}

extension LoopbackServer.Configuration {
    /// Thousands of requests, of which nobody asks.
    fileprivate static var unrecorded: Self {
        var configuration = Self()
        configuration.recordsRequests = false
        return configuration
    }
}
