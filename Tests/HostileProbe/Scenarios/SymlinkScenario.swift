import Foundation
import Glibc
import Persistence
import ScopedNet

/// Symbolic links where the library writes: what they lead to stays as it was.
enum SymlinkScenario {
    static func play(on stage: Stage) async throws {
        let victims = stage.path("victims")
        try FileManager.default.createDirectory(atPath: victims + "/inner", withIntermediateDirectories: true)
        let files = ["file", "part", "inner/body", "database", "lock"].map { victims + "/" + $0 }
        for file in files { try Data("keep".utf8).write(to: URL(fileURLWithPath: file)) }
        for file in files { chmod(file, 0o644) }
        for round in 0..<stage.rounds(2, thorough: 50) {
            try await downloads(stage, stage.path("downloads-\(round)"), victims)
            for name in ["bodies-1", "tmp-1", "store-1.sqlite", "store-1.lock"] {
                try await store(stage, stage.path("store-\(round)-\(name)"), name, victims)
            }
        }
        for file in files {
            stage.expect((try? String(contentsOfFile: file, encoding: .utf8)) == "keep", "\(file) was changed")
            var status = stat()
            stage.expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o644, "the mode of \(file) was changed")
        }
        let names = (FileManager.default.enumerator(atPath: victims)?.compactMap { $0 as? String } ?? []).sorted()
        stage.expect(names == ["database", "file", "inner", "inner/body", "lock", "part"], "where the links lead there is \(names)")
    }

    /// The target of a download is a link, and the part that it would go on with.
    private static func downloads(_ stage: Stage, _ folder: String, _ victims: String) async throws {
        guard mkdir(folder, 0o700) == 0 else { throw Trouble("mkdir") }
        try link(victims + "/file", folder + "/file")
        try link(victims + "/part", folder + "/other.scopednet-part")
        try link(victims + "/part", folder + "/other.scopednet-resume")
        for (name, resumes) in [("file", false), ("other", true)] {
            let request = stage.session.download(stage.url + "/small", to: URL(fileURLWithPath: folder + "/" + name))
            await stage.end(of: stage.start("a download through a link", request.options { $0.downloads.resumes = resumes }))
        }
    }

    /// A store one of whose files is a link.
    private static func store(_ stage: Stage, _ folder: String, _ name: String, _ victims: String) async throws {
        guard mkdir(folder, 0o700) == 0 else { throw Trouble("mkdir") }
        let target = ["bodies-1": victims, "tmp-1": victims, "store-1.sqlite": victims + "/database"][name] ?? victims + "/lock"
        try link(target, folder + "/" + name)
        // Beside a database that is none, a store begins anew, and removes the bodies of the old one.
        if name != "store-1.sqlite" { try Data("garbage".utf8).write(to: URL(fileURLWithPath: folder + "/store-1.sqlite")) }
        var configuration = StoreConfiguration(directory: folder)
        configuration.limits.inlineBodyBytes = 1024
        let cache = ResponseCache(configuration)
        let session = stage.session { $0.cache = cache }
        for number in 0..<4 {
            await stage.expectSuccess(of: stage.start("a cached request", session.request(stage.url + "/cacheable/\(number % 2)")))
        }
        do { try await cache.flush() } catch { stage.expect(error.code == .unavailable, "\(name): \(error.code) \(error)") }
    }

    private static func link(_ target: String, _ path: String) throws {
        guard symlink(target, path) == 0 else { throw Trouble("symlink \(path)") }
    }
}
