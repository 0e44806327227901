#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import Persistence
import ScopedNet

/// What all subcommands of `cache` have in common.
struct CacheArguments: ParsableArguments, Sendable {
    @Argument(help: "The cache: a name in the user's caches, or the path of a folder.")
    var cache: String

    @Option(parsing: .unconditional, help: ArgumentHelp("Of this partition only; '' is the one without a name.", valueName: "name"))
    var partition: String?

    @Flag(help: "Print JSON objects, one on a line.")
    var json = false

    var directory: String { get throws(ToolFailure) { try CacheFolder.path(of: cache) } }

    /// - Throws: a ``ToolFailure`` that says why there is nothing to look at.
    func opened() throws(ToolFailure) -> StoreInspector {
        let directory = try directory
        do throws(StoreError) { return try StoreInspector(directory: directory) } catch { throw CacheFolder.failure(error, directory) }
    }

    /// Calls the closure for each entry on disk, in the order they were stored, until it returns false.
    func forEach(_ store: StoreInspector, _ body: (EntrySummary) throws(ToolFailure) -> Bool) throws(ToolFailure) {
        let directory = try directory
        var last: Int64 = 0
        while !Task.isCancelled {
            let summaries: [EntrySummary]
            do throws(StoreError) { summaries = try store.list(partition: partition, after: last, limit: 500) } catch {
                throw CacheFolder.failure(error, directory)
            }
            guard let newest = summaries.last else { return }
            last = newest.id
            for summary in summaries where try !body(summary) { return }
        }
    }
}
#endif
