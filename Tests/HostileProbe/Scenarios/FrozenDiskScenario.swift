import Foundation
import Persistence
import ScopedNet
import TestProcesses

/// Every write to the disk of downloads, cache and cookies hangs for seconds, as under fsfreeze(8) or a dead network file system.
enum FrozenDiskScenario {
    static func play(on stage: Stage) async throws {
        let disk = try FreezableDisk(megabytes: stage.isThorough ? 512 : 64)
        let cache = ResponseCache(StoreConfiguration(directory: disk.path + "/cache"))
        let jar = await CookieJar(StoreConfiguration(directory: disk.path + "/cookies"))
        let cached = stage.session { ($0.cache, $0.cookies) = (cache, jar) }
        await stage.expectSuccess(of: stage.start("a response to store", cached.request(stage.url + "/cacheable/known")))
        let upload = disk.path + "/upload"
        try Data(repeating: 7, count: 1 << 20).write(to: URL(fileURLWithPath: upload))
        for round in 0..<stage.rounds(1, thorough: 8) {
            try await freeze(stage, disk, cached, round, upload)
        }
        let final = stage.start("a response after it", cached.request(stage.url + "/cacheable/known"))
        await stage.expectSuccess(of: final)
        do { try await cache.flush() } catch { stage.complain("after the thaw: \(error)") }
    }

    private static func freeze(_ stage: Stage, _ disk: FreezableDisk, _ cached: Session, _ round: Int, _ upload: String) async throws {
        let session = stage.session
        let clock = Duration.milliseconds(1_500)
        func file(_ name: String) -> URL { URL(fileURLWithPath: disk.path + "/\(name)-\(round)") }
        let before = stage.start(
            "a download begun before", session.download(stage.url + "/drip", to: file("before")).options { $0.timeouts.idle = .seconds(1) })
        let (heads, head) = AsyncStream.makeStream(of: Void.self)
        let cancelled = stage.start(
            "a cancelled download", session.download(stage.url + "/endless", to: file("cancelled")).onResponseHead { _ in head.yield() })
        for await _ in heads { break }
        try disk.freeze(atMost: 60)
        defer { disk.thaw() }
        let began = ContinuousClock.now
        let clocked = (0..<4).map { number in
            stage.start(
                "a download with a clock",
                session.download(stage.url + "/large", to: file("clocked-\(number)")).options { $0.timeouts.total = clock })
        }
        let patient = stage.start(
            "a patient download", session.download(stage.url + "/large", to: file("patient")).options { $0.timeouts.idle = .seconds(1) })
        let stored = (0..<4).map { number in
            stage.start(
                "a request with the cache",
                cached.request(stage.url + "/cacheable/\(round)-\(number)").options { $0.timeouts.total = clock })
        }
        let known = stage.start("a stored response", cached.request(stage.url + "/cacheable/known").options { $0.timeouts.total = clock })
        let cookie = stage.start(
            "a response with a cookie", cached.request(stage.url + "/cookie?\(round)").options { $0.timeouts.total = clock })
        let sent = stage.start(
            "an upload", session.request(stage.url + "/upload", method: .post, body: .file(upload)).options { $0.timeouts.total = clock })
        cancelled.cancel()
        stage.expect(
            await stage.end(of: cancelled, within: .seconds(1))?.isCancelled == true, "\(cancelled.name) was not cancelled at once")
        for run in clocked {
            await stage.expectFailure([.totalTimeout], of: run, within: .seconds(3))
            if let took = run.duration { stage.noteMost("clock of a download", took - clock) }
        }
        for run in stored + [known, cookie, sent] { await stage.expectSuccess(of: run, within: .seconds(3)) }
        // Frozen for so long that every clock above has run out by far.
        let rest = Duration.seconds(stage.isThorough ? 10 : 4) - began.duration(to: .now)
        if rest > .zero { try await Task.sleep(for: rest) }
        stage.expect(patient.reason == nil && before.reason == nil, "a download ended while nothing could be written")
        stage.note("frozen ms", Int(began.duration(to: .now) / .milliseconds(1)))
        disk.thaw()
        await stage.expectSuccess(of: patient)
        await stage.expectSuccess(of: before)
    }
}
