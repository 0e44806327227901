import CleanSlate
import Foundation
import ScopedNetTestServer
import SystemSupport
import TestProcesses
import Testing

@_spi(Transport) @testable import ScopedNet

/// A file system that hangs: whoever writes to it waits, and nobody else.
@Suite(.leavesNothing(within: .seconds(40)), .serialized, .enabled(if: FreezableDisk.isAvailable, FreezableDisk.obstacle))
struct FrozenDiskTests {
    private func withDisk(_ test: (FreezableDisk) async throws -> Void) async throws {
        let disk = try FreezableDisk()
        // Whatever the test does, what hangs goes on afterwards: a hanging thread would never end.
        defer { disk.thaw() }
        try await test(disk)
    }

    private func result(of download: Request<URL>) throws -> Response<URL> {
        let result = try #require(download.result)
        return try result.get()
    }

    /// Each of these waits for the disk before it sends anything.
    @Test func aHungDiskDelaysNobodysDecoding() async throws {
        try await withDisk { disk in
            try await withWire { wire async throws in
                wire.server.on("/json", .ok("[1, 2, 3]").header("Content-Type", "application/json"))
                wire.server.on("/file", .ok("file"))
                try disk.freeze()
                let downloads = (0..<40).map { number in
                    wire.session.download(wire.url + "/file", to: URL(fileURLWithPath: disk.path + "/\(number)"))
                }
                for download in downloads { download.start() }
                try await withSession { other async throws in
                    for _ in 0..<5 {
                        let request = other.request(wire.url + "/json", decoder: .json([Int].self)).options {
                            $0.timeouts.total = .seconds(20)
                        }
                        #expect(try await request.response().value == [1, 2, 3])
                    }
                }
                // Of the same session, too.
                let request = wire.session.request(wire.url + "/json", decoder: .json([Int].self)).options {
                    $0.timeouts.total = .seconds(20)
                }
                #expect(try await request.response().value == [1, 2, 3])
                #expect(downloads.allSatisfy { $0.result == nil })
                disk.thaw()
                await wire.agent.waitUntilIdle()
                for download in downloads { _ = try result(of: download) }
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path).count == 40)
        }
    }

    /// Fails after half a second by a clock of the loop that the downloads run on.
    private func expectClockToRun(_ wire: Wire) async throws {
        let error = try await wire.get("/silent") { $0.timeouts.total = .milliseconds(500) }.failure()
        #expect(error.code == .totalTimeout, "\(error)")
    }

    /// THR-1. Bodies that come while the disk hangs, some of them larger than what waits in memory.
    @Test(.timeLimit(.minutes(3))) func aDiskThatHangsUnderDownloadsDelaysNobodyElse() async throws {
        let sizes = [1_000, 300_000, 3_000_000, 9_000_000]
        try await withDisk { disk in
            try await withWire { wire async throws in
                wire.server.on("/", .ok("well"))
                wire.server.on("/silent", .ok("never").stalling(.beforeHead))
                for size in sizes { wire.server.on("/\(size)", .ok(.bytes([UInt8](bytes(size)))).stalling(.beforeHead)) }
                let downloads = sizes.map { size in
                    wire.session.download(wire.url + "/\(size)", to: URL(fileURLWithPath: disk.path + "/\(size)")).options {
                        // It begins with the head: none runs out before the disk is frozen, however busy the machine is.
                        $0.timeouts.idle = .milliseconds(700)
                    }
                }
                for download in downloads { download.start() }
                try await wire.server.waitForStalls(sizes.count)
                try disk.freeze()
                // A download that asks again, as the server was slow under load, is answered at once.
                for size in sizes { wire.server.on("/\(size)", .ok(.bytes([UInt8](bytes(size))))) }
                wire.server.releaseStalls()
                // Twice as long as the downloads may wait for a server.
                for _ in 0..<3 {
                    #expect(try await wire.get().options { $0.timeouts.total = .seconds(20) }.response().value == Data("well".utf8))
                    try await expectClockToRun(wire)
                }
                #expect(downloads.allSatisfy { $0.result == nil })
                disk.thaw()
                await wire.agent.waitUntilIdle()
                for (size, download) in zip(sizes, downloads) {
                    _ = try result(of: download)
                    #expect(FileManager.default.contents(atPath: disk.path + "/\(size)") == bytes(size))
                }
            }
        }
    }

    /// The window, the buffer that is being filled, one that the frozen writer may have taken out of the window, and what one call of libcurl reads before the
    /// transfer can be paused: version 8 goes round eleven times.
    @Test func aDownloadReadsNoFurtherThanItsWindow() async throws {
        let size = 48 << 20
        try await withDisk { disk in
            try await withWire { wire async throws in
                wire.server.on("/silent", .ok("never").stalling(.beforeHead))
                wire.server.on("/large", .ok(.bytes([UInt8](repeating: 7, count: size))).stalling(.afterBytes(500)))
                let received = Lock(Int64(0))
                let download = wire.session.download(wire.url + "/large", to: URL(fileURLWithPath: disk.path + "/large"))
                download.onDownloadProgress { progress in received.withLock { $0 = max($0, progress.completed) } }
                    .start()
                try await wire.server.waitForStalls()
                try disk.freeze()
                wire.server.releaseStalls()
                // Until nothing more comes.
                var before: Int64 = -1
                while true {
                    let now = received.withLock { $0 }
                    if now == before, now > 500 { break }
                    before = now
                    try await expectClockToRun(wire)
                }
                let buffers = Capabilities.current.stopsReadingWhenPaused ? 3 : 13
                let bound = FileWriter.window + buffers * TransferOptions.fileBufferBytes + 500
                #expect(before <= Int64(bound), "\(before) bytes waited for the disk")
                disk.thaw()
                wire.server.releaseStalls()
                await wire.agent.waitUntilIdle()
                _ = try result(of: download)
            }
        }
    }

    /// Before the request, and with the body: the user's clock ends the wait, and the disk is tidied up when it has returned.
    @Test(arguments: ["before", "with the body"]) func theTotalTimeEndsAWaitForTheDisk(_ moment: String) async throws {
        try await withDisk { disk in
            try await withWire { wire async throws in
                wire.server.on("/file", .ok(.bytes([UInt8](bytes(5_000)))).stalling(.afterBytes(500)))
                if moment == "before" { try disk.freeze() }
                let request = wire.session.download(wire.url + "/file", to: URL(fileURLWithPath: disk.path + "/file")).options {
                    $0.timeouts.total = .seconds(1)
                    $0.retry = .none
                }
                request.start()
                if moment != "before" {
                    try await wire.server.waitForStalls()
                    try disk.freeze()
                    wire.server.releaseStalls()
                }
                // The run is over, and the disk still hangs.
                await wire.agent.waitUntilIdle()
                guard case .failure(let error) = request.result else { throw UnexpectedSuccess() }
                #expect(error.code == .totalTimeout, "\(error)")
                disk.thaw()
            }
            while try !FileManager.default.contentsOfDirectory(atPath: disk.path).isEmpty { await Task.yield() }
        }
    }

    /// No total time ends the wait, and the error is known.
    @Test(arguments: [false, true]) func anErrorIsToldWhileTheDiskHangs(resumes: Bool) async throws {
        try await withDisk { disk in
            try await withWire { wire async throws in
                let body = bytes(600_000)
                wire.server.on("/file", .ok(.bytes(Array(body))).header("ETag", "\"1\"").stalling(.afterBytes(500)))
                let heads = Trace()
                let request = wire.session.download(wire.url + "/file", to: URL(fileURLWithPath: disk.path + "/file")).options {
                    $0.timeouts.idle = .milliseconds(500)
                    $0.downloads.resumes = resumes
                    $0.retry = .standard
                    $0.retry.maxAttempts = 2
                }
                request.onDownloadProgress { _ in heads.add("progress") }.start()
                try await wire.server.waitForStalls()
                await heads.wait(for: 1)
                try disk.freeze()
                // Nothing comes any more: each attempt ends by its own clock.
                await wire.agent.waitUntilIdle()
                guard case .failure(let error) = request.result else { throw UnexpectedSuccess() }
                #expect(error.code == .idleTimeout, "\(error)")
                disk.thaw()
                wire.server.releaseStalls()
            }
        }
    }

    @Test func aCancelOfADownloadThatHangsEndsAtOnce() async throws {
        try await withDisk { disk in
            try await withWire { wire async throws in
                wire.server.on("/file", .ok(.bytes([UInt8](bytes(5_000_000)))).stalling(.afterBytes(500)))
                let ends = Trace()
                let request = wire.session.download(wire.url + "/file", to: URL(fileURLWithPath: disk.path + "/file")).onEnd { _ in
                    ends.add("end")
                }
                request.start()
                try await wire.server.waitForStalls()
                try disk.freeze()
                wire.server.releaseStalls()
                #expect(request.cancel() == .cancelled)
                await ends.wait(for: 1)
                // The slot is free again too.
                try await wire.server.waitForOpenConnections { $0 == 0 }
                disk.thaw()
                while try !FileManager.default.contentsOfDirectory(atPath: disk.path).isEmpty { await Task.yield() }
            }
        }
    }
}
