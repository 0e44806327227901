import Foundation
import Glibc
import HTTPTypes
import Persistence
import ScopedNet

/// Folders for cache, cookies and credentials that another user made first: nothing may get into them, and nothing out of them.
enum ForeignFolderScenario {
    private static let other: uid_t = 65_534
    private static let secret = "swordfish-7c1f"

    static func play(on stage: Stage) async throws {
        for (name, mode) in [("open", mode_t(0o777)), ("closed", 0o755), ("private", 0o700)] {
            let folder = stage.path(name)
            for path in [folder, folder + "/bodies-1", folder + "/tmp-1"] {
                guard mkdir(path, mode) == 0, chmod(path, mode) == 0, chown(path, other, other) == 0 else { throw Trouble("mkdir \(path)") }
            }
            for _ in 0..<stage.rounds(1, thorough: 20) {
                let cache = ResponseCache(StoreConfiguration(directory: folder))
                let session = stage.session { $0.cache = cache }
                for number in 0..<4 {
                    let request = session.request(stage.url + "/cacheable/\(number % 2)?\(secret)")
                    await stage.expectSuccess(of: stage.start("a cached request", request))
                }
                do {
                    try await cache.flush()
                    stage.complain("responses were written to the \(name) folder of another user")
                } catch {
                    stage.expect(error.code == .unavailable, "\(name): \(error.code) \(error)")
                }
            }
            try await keepSecrets(stage, folder)
            let names = (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []).sorted()
            stage.expect(names == ["bodies-1", "tmp-1"], "the \(name) folder of another user holds \(names)")
        }
    }

    private static func keepSecrets(_ stage: Stage, _ folder: String) async throws {
        let jar = await CookieJar(StoreConfiguration(directory: folder))
        let credentials = await CredentialStore(StoreConfiguration(directory: folder))
        let session = stage.session { ($0.cookies, $0.credentials) = (jar, credentials) }
        await stage.expectSuccess(of: stage.start("one with a cookie", session.request(stage.url + "/cookie?\(secret)")))
        do {
            try await jar.flush()
            stage.complain("cookies were written to a folder of another user")
        } catch {
            stage.expect(error.code == .unavailable, "cookies: \(error.code) \(error)")
        }
        stage.expect(credentials.spaces.isEmpty, "credentials came out of a folder of another user")
    }
}
