import Foundation
import Glibc
import Persistence
import ScopedNet

/// Downloads to a disk without room, and a cache, cookies and parts of downloads on it. Then there is room again.
enum FullDiskScenario {
    static func play(on stage: Stage) async throws {
        let disk = try MemoryDisk(over: stage.path("disk"), bytes: 4 << 20)
        let old = disk.path + "/file"
        try Data("old".utf8).write(to: URL(fileURLWithPath: old))
        let cache = ResponseCache(StoreConfiguration(directory: disk.path + "/cache"))
        let jar = await CookieJar(StoreConfiguration(directory: disk.path + "/cookies"))
        let session = stage.session { ($0.cache, $0.cookies) = (cache, jar) }
        let first = stage.start("a response to store", session.request(stage.url + "/cacheable/first"))
        await stage.expectSuccess(of: first)
        for round in 0..<stage.rounds(2, thorough: 40) {
            disk.fill()
            var downloads: [TrackedRun] = []
            for number in 0..<4 {
                let file = URL(fileURLWithPath: number == 0 ? old : disk.path + "/new-\(number)")
                let request = session.download(stage.url + "/large", to: file).options { $0.downloads.resumes = number == 1 }
                downloads.append(stage.start("a download to a full disk", request))
            }
            let stopped = stage.start(
                "a cancelled one", session.download(stage.url + "/large", to: URL(fileURLWithPath: disk.path + "/stopped")))
            stopped.cancel()
            var others: [TrackedRun] = []
            for number in 0..<30 {
                others.append(stage.start("a response to store", session.request(stage.url + "/cacheable/\(round)-\(number)")))
            }
            others.append(stage.start("a response with a cookie", session.request(stage.url + "/cookie?\(round)")))
            for run in downloads { await stage.expectFailure([.diskFull], of: run) }
            for run in others { await stage.expectSuccess(of: run) }
            await stage.end(of: stopped)
            stage.expect((try? String(contentsOfFile: old, encoding: .utf8)) == "old", "a failed download changed the file")
            for number in 1..<4 { stage.expect(access(disk.path + "/new-\(number)", F_OK) != 0, "a failed download left a file") }
            do {
                try await jar.flush()
                // A page of the log may have been there to write it to.
            } catch {
                stage.expect([.diskFull, .unavailable].contains(error.code), "cookies on a full disk: \(error.code) \(error)")
            }
            disk.makeRoom()
            let again = stage.start(
                "a download with room again", session.download(stage.url + "/small", to: URL(fileURLWithPath: disk.path + "/again")))
            await stage.expectSuccess(of: again)
        }
        stage.expect(jar.cookies.count == 1, "\(jar.cookies.count) cookies in memory")
        stage.note("downloads refused", stage.rounds(2, thorough: 40) * 4)
    }
}
