#if CommandLineTool
import ArgumentParser
import Persistence
import ScopedNet

struct CacheListCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Print the responses that a cache holds, in the order they were stored.",
        discussion: """
            STATE is what the cache would do by HTTP's rules alone: use it as it is ('fresh' for so long), ask the server first ('stale' since \
            then), or ask each time ('validate'). A program's own policy may say otherwise.

              scopednet cache list com.example.reader
              scopednet cache list --json com.example.reader | jq -r 'select(.state == "stale") | .url'
            """)

    @OptionGroup var arguments: CacheArguments

    @Option(name: [.customShort("n"), .long], parsing: .unconditional, help: ArgumentHelp("End after so many.", valueName: "count"))
    var count: Int?

    @Option(parsing: .unconditional, help: ArgumentHelp("Only those whose URL contains this.", valueName: "text"))
    var match: String?

    @Flag(help: "Print secrets in URLs too, in place of ***.")
    var secrets = false

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count takes a count of 1 or more.") }
    }

    func execute() async throws(ToolFailure) {
        let store = try arguments.opened()
        let console = Console()
        let now = WallTime.now
        var printed = 0
        var bytes: Int64 = 0
        var unreadable = 0
        try arguments.forEach(store) { (summary) throws(ToolFailure) in
            guard let record = CacheRecord(summary) else {
                unreadable += 1
                return true
            }
            if let match, !record.key.contains(match) { return true }
            if printed == 0, !arguments.json { try console.print(line: CacheTable.head) }
            let report = CacheReport(record, now: now, showsSecrets: secrets)
            try console.print(line: arguments.json ? JSONText.line(report) : CacheTable.line(report))
            printed += 1
            bytes += Int64(summary.cost)
            return printed < count ?? .max
        }
        if !arguments.json { try console.print(line: CacheTable.total(printed, bytes)) }
        if unreadable > 0 { console.report("scopednet: \(unreadable) more are encrypted, or of another version of the library") }
    }
}
#endif
