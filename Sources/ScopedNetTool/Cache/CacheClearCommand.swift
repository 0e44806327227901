#if CommandLineTool
import ArgumentParser
import Persistence
import ScopedNet

struct CacheClearCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "clear", abstract: "Remove what a cache holds: all of it, a partition, or a URL.",
        discussion: """
            A program that shares its cache between processes sees the change with its next request. One that has it for itself holds responses in \
            its memory: end it first; as long as it runs, nothing is removed and the exit status is 75.

              scopednet cache clear com.example.reader
              scopednet cache clear --url https://example.org/feed com.example.reader
            """)

    @OptionGroup var arguments: CacheArguments

    @Option(parsing: .unconditional, help: ArgumentHelp("Only what is stored for this URL, written as 'list' prints it.", valueName: "URL"))
    var url: String?

    private struct Report: Encodable {
        let cache: String
        let entries: Int
        let bytes: Int
    }

    func execute() async throws(ToolFailure) {
        let directory = try arguments.directory
        let before = try look(directory)
        guard !before.isSealed || url == nil && arguments.partition == nil else {
            let advice = "clear all of it, or let its program do this"
            throw ToolFailure(.usage, "\(directory): it is encrypted, and its names with it\n  \(advice)")
        }
        let store = try await open(directory, contentVersion: before.contentVersion)
        do throws(ToolFailure) { try await clear(store, directory) } catch {
            await store.close()
            throw error
        }
        await store.close()
        let after = try look(directory)
        let report = Report(
            cache: arguments.cache, entries: max(0, before.entries - after.entries), bytes: max(0, before.bytes - after.bytes))
        let console = Console()
        let text = "removed \(CacheTable.total(report.entries, Int64(report.bytes)))"
        try console.print(line: arguments.json ? JSONText.line(report) : text)
    }

    /// What there is. A damaged store is an empty one: opening it replaces it.
    private func look(_ directory: String) throws(ToolFailure) -> (entries: Int, bytes: Int, contentVersion: Int, isSealed: Bool) {
        do throws(StoreError) {
            let store = try StoreInspector(directory: directory)
            let totals = try store.totals()
            return (totals.entries, totals.bytes, store.contentVersion, try store.isSealed())
        } catch {
            guard error.code == .damaged else { throw CacheFolder.failure(error, directory) }
            return (0, 0, StoredResponse.codingVersion, false)
        }
    }

    private func open(_ directory: String, contentVersion: Int) async throws(ToolFailure) -> Store {
        var configuration = StoreConfiguration(directory: directory, mode: .shared)
        configuration.contentVersion = contentVersion
        // What is not asked for stays, however much that is.
        configuration.limits.diskBytes = .max
        let store = Store(configuration)
        guard await store.opened() != .open else { return store }
        let condition = store.condition
        await store.close()
        guard case .memoryOnly(let reason) = condition else { throw ToolFailure(.system, "\(directory): it cannot be opened") }
        throw ToolFailure(.inUse, "\(directory): \(reason)\n  end the program that has the cache for itself, and try again")
    }

    private func clear(_ store: Store, _ directory: String) async throws(ToolFailure) {
        if let url {
            try remove(url, store)
        } else if let partition = arguments.partition {
            store.removeAll(in: partition)
        } else {
            store.removeAll()
        }
        do throws(StoreError) { try await store.flush() } catch { throw ToolFailure(.system, "\(directory): \(error)") }
    }

    private func remove(_ url: String, _ store: Store) throws(ToolFailure) {
        let inspector = try arguments.opened()
        var keys: Set<EntryKey> = []
        try arguments.forEach(inspector) { (summary) throws(ToolFailure) in
            if CacheRecord(summary)?.answers(url) == true { keys.insert(summary.key) }
            return true
        }
        for key in keys { store.remove(key) }
    }
}
#endif
