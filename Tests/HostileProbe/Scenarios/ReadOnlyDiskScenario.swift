import Foundation
import Glibc
import Persistence
import ScopedNet

/// A disk that can be read and not written, for downloads, a new cache and one that was written before. Then it can be written again.
enum ReadOnlyDiskScenario {
    static func play(on stage: Stage) async throws {
        let disk = try MemoryDisk(over: stage.path("disk"), bytes: 8 << 20)
        let upload = disk.path + "/upload"
        try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: upload))
        try await fillCache(on: stage, disk)
        for _ in 0..<stage.rounds(2, thorough: 40) {
            // The stores of before close by themselves, a moment after their last user.
            await stage.settle { disk.setReadOnly(true) }
            let old = ResponseCache(StoreConfiguration(directory: disk.path + "/cache"))
            let new = ResponseCache(StoreConfiguration(directory: disk.path + "/new"))
            let jar = await CookieJar(StoreConfiguration(directory: disk.path + "/cookies"))
            for cache in [old, new] {
                let session = stage.session { ($0.cache, $0.cookies) = (cache, jar) }
                for number in 0..<10 {
                    let request = session.request(stage.url + "/cacheable/\(number % 5)")
                    await stage.expectSuccess(of: stage.start("a cached request", request))
                }
                await stage.expectSuccess(of: stage.start("a response with a cookie", session.request(stage.url + "/cookie?1")))
            }
            var downloads: [TrackedRun] = []
            for resumes in [false, true] {
                let request = stage.session.download(stage.url + "/small", to: URL(fileURLWithPath: disk.path + "/file-\(resumes)"))
                downloads.append(stage.start("a download", request.options { $0.downloads.resumes = resumes }))
            }
            for run in downloads { await stage.expectFailure([.fileUnwritable], of: run) }
            let sent = stage.session.request(stage.url + "/upload", method: .post, body: .file(upload))
            await stage.expectSuccess(of: stage.start("an upload", sent))
            do {
                try await jar.flush()
                stage.complain("cookies were written to a disk that takes none")
            } catch {
                stage.expect(error.code == .unavailable, "cookies: \(error.code) \(error)")
            }
            guard disk.setReadOnly(false) else { throw Trouble("remount") }
            let again = stage.session.download(stage.url + "/small", to: URL(fileURLWithPath: disk.path + "/again"))
            await stage.expectSuccess(of: stage.start("a download to a disk that is writable again", again))
        }
    }

    /// What a session before this one has left.
    private static func fillCache(on stage: Stage, _ disk: MemoryDisk) async throws {
        let store = Store(StoreConfiguration(directory: disk.path + "/cache"))
        _ = await store.opened()
        await store.close()
        let cache = ResponseCache(StoreConfiguration(directory: disk.path + "/cache"))
        let session = stage.session { $0.cache = cache }
        for number in 0..<5 {
            await stage.expectSuccess(of: stage.start("a response to store", session.request(stage.url + "/cacheable/\(number)")))
        }
        try await cache.flush()
    }
}
