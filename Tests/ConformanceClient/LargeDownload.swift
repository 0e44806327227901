import Foundation
import Glibc
import Persistence
import ScopedNet

/// Downloads a large body, which is stored, and downloads it once more out of the cache; says how much memory that took at most.
///
///     ConformanceClient download URL FOLDER
enum LargeDownload {
    /// What it says, on its standard output.
    struct Report: Codable, Sendable {
        /// Above what the process took before, in KiB.
        var memory: Int
        /// Of the two responses.
        var sources: [String]
        /// Of the two files.
        var lengths: [Int]
        var isSame: Bool
    }

    static func run(url: String, folder: String) async throws {
        var store = StoreConfiguration(directory: folder + "/store")
        store.limits.diskBytes = 8 << 30
        store.limits.bodyBytes = 4 << 30
        let cache = ResponseCache(store)
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.proxy = .none
        configuration.cache = cache
        let session = Session(configuration: configuration)
        let files = ["first", "second"].map { URL(filePath: "\(folder)/\($0)") }
        // Threads, buffers and the database are there before it counts.
        _ = try await session.download(url + "?small", to: files[0]).response()
        await cache.store.relieveMemory()
        let before = ProcessMemory.kibibytes("VmRSS")
        ProcessMemory.resetPeak()
        var sources: [String] = []
        for file in files {
            sources.append("\(try await session.download(url, to: file).response().source)")
            await cache.store.relieveMemory()
        }
        let most = ProcessMemory.kibibytes("VmHWM") - before
        let report = Report(memory: most, sources: sources, lengths: files.map(length), isSame: try isSame(files[0], files[1]))
        try FileHandle.standardOutput.write(contentsOf: JSONEncoder().encode(report))
        await session.shutdown()
        await cache.store.close()
    }

    private static func length(_ file: URL) -> Int {
        var status = stat()
        return stat(file.path, &status) == 0 ? status.st_size : -1
    }

    private static func isSame(_ left: URL, _ right: URL) throws -> Bool {
        let (left, right) = (try FileHandle(forReadingFrom: left), try FileHandle(forReadingFrom: right))
        while true {
            let (one, other) = (try left.read(upToCount: 1 << 20), try right.read(upToCount: 1 << 20))
            if one != other { return false }
            if one?.isEmpty ?? true { return true }
        }
    }
}
