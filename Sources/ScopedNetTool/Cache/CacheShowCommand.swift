#if CommandLineTool
import ArgumentParser
import FoundationEssentials
import Persistence
import ScopedNet

struct CacheShowCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print what a cache holds for a URL, all variants of it.",
        discussion: """
            The URL is written as 'list' prints it, or as it was asked for; a key that a program has made itself does as well. The exit status is \
            1 when nothing is stored for it.

              scopednet cache show com.example.reader https://example.org/feed
              scopednet cache show --body com.example.reader https://example.org/feed > feed.gz
            """)

    @OptionGroup var arguments: CacheArguments

    @Argument(help: "What to look for.")
    var url: String

    @Flag(help: "Write the stored body of the newest variant to standard output, and nothing else. It is as the server encoded it.")
    var body = false

    @Flag(help: "Print cookies and other secrets too, in place of ***.")
    var secrets = false

    func validate() throws {
        if body, arguments.json { throw ValidationError("--body and --json exclude each other.") }
    }

    func execute() async throws(ToolFailure) {
        let store = try arguments.opened()
        var found: [CacheRecord] = []
        try arguments.forEach(store) { (summary) throws(ToolFailure) in
            if let record = CacheRecord(summary), record.answers(url) { found.append(record) }
            return true
        }
        guard let newest = found.last else {
            throw ToolFailure(.unsatisfied, "\(url): nothing is stored for it\n  'scopednet cache list \(arguments.cache)' shows what is")
        }
        let console = Console()
        if body { return try write(newest, of: store, console) }
        for (index, record) in found.enumerated() {
            let report = CacheReport(record, now: .now, showsSecrets: secrets, isFull: true)
            if arguments.json {
                try console.print(line: JSONText.line(report))
            } else {
                try console.print(line: (index == 0 ? "" : "\n") + CacheTable.page(report))
            }
        }
    }

    private func write(_ record: CacheRecord, of store: StoreInspector, _ console: Console) throws(ToolFailure) {
        guard let entry = try entry(of: record, in: store) else {
            throw ToolFailure(.unsatisfied, "\(url): it was replaced or removed just now")
        }
        let reader = try reading { () throws(StoreError) in try entry.body.makeReader() }
        for start in stride(from: 0, to: reader.length, by: 1 << 16) where !Task.isCancelled {
            try console.print(reading { () throws(StoreError) in try reader.read(at: start, upTo: 1 << 16) })
        }
    }

    private func entry(of record: CacheRecord, in store: StoreInspector) throws(ToolFailure) -> StoreEntry? {
        try reading { () throws(StoreError) in try store.entries(record.summary.key) }.last { $0.variant == record.summary.variant }
    }

    private func reading<Value>(_ body: () throws(StoreError) -> Value) throws(ToolFailure) -> Value {
        do throws(StoreError) { return try body() } catch { throw try CacheFolder.failure(error, arguments.directory) }
    }
}
#endif
