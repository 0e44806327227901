import CHostile
import Foundation
import Glibc
import Persistence
import ScopedNet

/// A program without the right to write, or to read, what it is pointed at: folders and files of root's.
enum NoPermissionScenario {
    static func play(on stage: Stage) async throws {
        let (closed, shown) = (stage.path("closed"), stage.path("shown"))
        for (folder, mode) in [(closed, mode_t(0o700)), (shown, 0o755)] {
            guard mkdir(folder, mode) == 0 else { throw Trouble("mkdir \(folder)") }
        }
        try Data("secret".utf8).write(to: URL(fileURLWithPath: shown + "/upload"))
        guard chmod(shown + "/upload", 0o600) == 0, chmod(stage.folder, 0o755) == 0 else { throw Trouble("chmod") }
        if geteuid() == 0, hostile_become(65_534) != 0 { throw Trouble("setresuid") }
        for _ in 0..<stage.rounds(3, thorough: 100) {
            for folder in [closed, shown] {
                let file = URL(fileURLWithPath: folder + "/file")
                for resumes in [false, true] {
                    let request = stage.session.download(stage.url + "/small", to: file).options { $0.downloads.resumes = resumes }
                    await stage.expectFailure([.fileUnwritable], of: stage.start("a download to \(folder)", request))
                }
                let cache = ResponseCache(StoreConfiguration(directory: folder + "/cache"))
                let jar = await CookieJar(StoreConfiguration(directory: folder + "/cookies"))
                let session = stage.session { ($0.cache, $0.cookies) = (cache, jar) }
                for _ in 0..<3 {
                    await stage.expectSuccess(of: stage.start("a cached request", session.request(stage.url + "/cacheable/1")))
                    await stage.expectSuccess(of: stage.start("one with a cookie", session.request(stage.url + "/cookie?1")))
                }
                do {
                    try await jar.flush()
                    stage.complain("cookies were written to \(folder)")
                } catch {
                    stage.expect(error.code == .unavailable, "cookies in \(folder): \(error.code) \(error)")
                }
            }
            let sent = stage.session.request(stage.url + "/upload", method: .post, body: .file(shown + "/upload"))
            await stage.expectFailure([.fileUnreadable], of: stage.start("an upload of a file of root's", sent))
        }
    }
}
