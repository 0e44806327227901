#if CommandLineTool
import ArgumentParser
import Persistence
import ScopedNet

struct CacheStatsCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats", abstract: "Print how much a cache holds, of what, and how old it is.",
        discussion: """
            Without a name all caches of this user are listed, one on a line. Hits and misses are counted by the program, not in its files: see \
            'ResponseCache.statistics'.
            """)

    @Argument(help: "The cache: a name in the user's caches, or the path of a folder.")
    var cache: String?

    @Flag(help: "Print JSON objects, one on a line.")
    var json = false

    func execute() async throws(ToolFailure) {
        let console = Console()
        guard let cache else { return try printAll(console) }
        let directory = try CacheFolder.path(of: cache)
        let store: StoreInspector
        do throws(StoreError) { store = try StoreInspector(directory: directory) } catch { throw CacheFolder.failure(error, directory) }
        let report = try CacheTotals(name: cache, directory: directory, store, now: .now)
        try console.print(line: json ? JSONText.line(report) : report.page)
    }

    private func printAll(_ console: Console) throws(ToolFailure) {
        let (home, names) = try CacheFolder.all()
        if names.isEmpty, !json { return console.report("there are no caches in \(home)") }
        if !json { try console.print(line: CacheTotals.head) }
        for name in names {
            do {
                let directory = try CacheFolder.path(of: name)
                let store = try StoreInspector(directory: directory)
                let report = try CacheTotals(name: name, directory: directory, store, now: .now)
                try console.print(line: json ? JSONText.line(report) : report.line)
            } catch let error as StoreError {
                // The others are as good as before.
                console.report("scopednet: \(name): \(error)")
            } catch let failure as ToolFailure {
                throw failure
            } catch {
                throw ToolFailure(.software, "\(error)")
            }
        }
    }
}
#endif
