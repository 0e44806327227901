import CleanSlate
import Foundation
import Persistence
import ScopedNetTestServer
import SystemSupport
import Testing

@testable import ScopedNet

/// Downloads that are copied into a cache whose disk hangs, or is slow.
@Suite(.leavesNothing, .timeLimit(.minutes(2))) struct CacheCopyTests {
    /// Stands for a disk that takes its time with each piece of a body.
    private final class SlowSealing: StoreSealing {
        private let condition = NSCondition()
        private let isHung = Lock(false)
        private let pause: UInt32

        /// - Parameter pause: in microseconds.
        init(pause: UInt32 = 0) { self.pause = pause }

        func hang() { isHung.withLock { $0 = true } }

        func goOn() {
            isHung.withLock { $0 = false }
            condition.lock()
            condition.broadcast()
            condition.unlock()
        }

        var overhead: Int { 1 }

        func seal(_ text: Data, context: Data) throws(StoreError) -> Data {
            condition.lock()
            while isHung.withLock({ $0 }) { condition.wait() }
            condition.unlock()
            if pause > 0 { usleep(pause) }
            return text + [0]
        }

        func open(_ sealed: Data, context: Data) throws(StoreError) -> Data { sealed.dropLast() }

        func hash(_ text: Data) -> Data {
            let sum = text.reduce(into: UInt64(5381)) { $0 = $0 &* 33 &+ UInt64($1) }
            return withUnsafeBytes(of: sum) { Data($0) + Data($0) }
        }
    }

    private let folder = TemporaryFolder()

    /// A cache whose bodies are files on such a disk, which goes on at the end.
    private func withCache(
        on sealing: SlowSealing, readTimeout: Duration, _ body: (CachedWire) async throws -> Void
    ) async throws {
        try await ScopedNetWireTests.withCache { _ in
        } store: {
            $0.sealing = sealing
            $0.limits.inlineBodyBytes = 0
            $0.limits.readTimeout = readTimeout
        } _: { cached async throws in
            defer { sealing.goOn() }
            try await body(cached)
        }
    }

    private func target(_ name: String) -> URL { URL(fileURLWithPath: folder.path + "/" + name) }

    /// More of them than a folder or a cache has threads.
    @Test func aCacheWhoseDiskHangsHoldsUpNoDownload() async throws {
        let sealing = SlowSealing()
        try await withCache(on: sealing, readTimeout: .milliseconds(200)) { cached async throws in
            let body = bytes(300_000)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            sealing.hang()
            // A download that does not end at all would keep the test.
            let rescue = Task {
                try await Task.sleep(for: .seconds(20))
                sealing.goOn()
            }
            let downloads = (0..<40).map { cached.wire.session.download(cached.server.url + "/?\($0)", to: target("\($0)")) }
            for download in downloads { download.start() }
            await cached.wire.agent.waitUntilIdle()
            #expect(!Task.isCancelled && downloads.allSatisfy { (try? $0.result?.get()) != nil })
            // Another session's, to the same folder.
            try await withSession { other async throws in
                _ = try await other.download(cached.server.url + "/", to: target("other")).response()
            }
            #expect(rescue.isCancelled == false)
            rescue.cancel()
            // Before anything was let go.
            #expect((try? await rescue.value) == nil)
            for name in folder.names { #expect(folder.contents(of: name)?.isSame(as: body) == true) }
            #expect(folder.names.count == 41)
            sealing.goOn()
            // The disk is asked again once it has returned.
            while !cached.cache.copies.admits { await Task.yield() }
            _ = try await cached.wire.session.download(cached.server.url + "/?new", to: target("new")).response()
            let again = try await cached.wire.session.download(cached.server.url + "/?new", to: target("again")).response()
            #expect(again.source == .cache)
        }
    }

    /// The thread of the copy is inside the cache's disk, and the run has ended without it.
    @Test func aRunWithoutItsCopyIsGoneBeforeTheDiskReturns() async throws {
        let sealing = SlowSealing()
        try await withCache(on: sealing, readTimeout: .milliseconds(200)) { cached async throws in
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(bytes(300_000)))).header("Cache-Control", "max-age=60"))
            sealing.hang()
            weak var core: RunDriver?
            do {
                let run = cached.wire.session.download(cached.server.url + "/", to: target("a")).start()
                core = run.core
                // A download that waits for the copy would keep the test.
                let rescue = Task {
                    try await Task.sleep(for: .seconds(20))
                    sealing.goOn()
                }
                await cached.wire.agent.waitUntilIdle()
                rescue.cancel()
            }
            #expect(!cached.cache.copies.admits)
            // The thread that ended it may hold it for a moment.
            let deadline = ContinuousClock.now + .seconds(20)
            while core != nil, .now < deadline { await Task.yield() }
            #expect(core == nil)
            #expect(!cached.cache.copies.admits)
        }
    }

    /// Longer than a disk may take to answer, and a piece at a time.
    @Test func aCopyThatGetsOnIsWaitedFor() async throws {
        let sealing = SlowSealing(pause: 10_000)
        try await withCache(on: sealing, readTimeout: .milliseconds(500)) { cached async throws in
            let body = bytes(8 << 20)
            cached.server.on("/", ScriptedResponse.ok(.bytes(Array(body))).header("Cache-Control", "max-age=60"))
            _ = try await cached.wire.session.download(cached.server.url + "/", to: target("a")).response()
            let second = try await cached.wire.session.download(cached.server.url + "/", to: target("b")).response()
            #expect(second.source == .cache)
            #expect(folder.contents(of: "b")?.isSame(as: body) == true)
        }
    }
}
