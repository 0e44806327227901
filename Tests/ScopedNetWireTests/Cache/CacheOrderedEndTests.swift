import CleanSlate
import Foundation
import Persistence
import ScopedNetTestServer
import SystemSupport
import TestProcesses
import Testing

@testable import ScopedNet

/// A program that ends in order, or has shut its session down, finds what it had stored when it is started again.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct CacheOrderedEndTests {
    @Test(arguments: ["shutdown", "exit", "thread", "return", "scope"])
    func responsesAndCookiesAreOnDisk(how: String) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/end-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let server = LoopbackServer { request in
            .ok("body").header("Cache-Control", "max-age=600")
                .header("Set-Cookie", "c\(request.path.dropFirst())=1; Max-Age=3600; Path=/")
        }
        try await server.start()
        let result = try await ProgramRun([product("ConformanceClient"), "end", server.url + "/", folder, how]).result()
        await server.stop()
        #expect(result.status == 0, "\(result.errors)")
        let responses = try StoreInspector(directory: folder + "/cache").totals().entries
        #expect(responses == 8, "\(how)")
        let jar = await CookieJar(StoreConfiguration(directory: folder + "/cookies"))
        #expect(jar.cookies.count == 8, "\(how)")
    }

    /// A disk that does not answer does not keep a shutdown.
    @Test func aShutdownWaitsForAHungDiskForTheLimitAtMost() async throws {
        let sealing = BlockedSealing()
        try await withCache(store: { $0.sealing = sealing }) { cached in
            _ = await cached.cache.store.opened()
            cached.server.on("/", fresh("a"))
            sealing.block()
            _ = try await cached.get()
            let began = ContinuousClock.now
            await cached.wire.session.shutdown()
            let taken = began.duration(to: .now)
            sealing.release()
            #expect(taken >= .seconds(1) && taken < .seconds(30))
        }
    }
}

/// Stands for a disk that does not answer.
private final class BlockedSealing: StoreSealing {
    private let condition = NSCondition()
    private let isBlocked = Lock(false)

    func block() { isBlocked.withLock { $0 = true } }

    func release() {
        isBlocked.withLock { $0 = false }
        condition.lock()
        condition.broadcast()
        condition.unlock()
    }

    private func wait() {
        condition.lock()
        while isBlocked.withLock({ $0 }) { condition.wait() }
        condition.unlock()
    }

    var overhead: Int { 0 }

    func seal(_ text: Data, context: Data) throws(StoreError) -> Data {
        wait()
        return text
    }

    func open(_ sealed: Data, context: Data) throws(StoreError) -> Data { sealed }

    func hash(_ text: Data) -> Data {
        let sum = text.reduce(into: UInt64(5381)) { $0 = $0 &* 33 &+ UInt64($1) }
        return withUnsafeBytes(of: sum) { Data($0) + Data($0) }
    }
}
