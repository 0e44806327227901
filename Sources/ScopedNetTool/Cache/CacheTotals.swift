import FoundationEssentials
import Persistence
import ScopedNet

/// What a cache holds, summed up.
struct CacheTotals: Encodable, Sendable {
    struct Host: Encodable, Sendable {
        let name: String
        var responses = 0
        var bytes = 0
    }

    let cache: String
    let directory: String
    private(set) var responses = 0
    /// On disk, tables and all.
    private(set) var bytes = 0
    private(set) var bodyBytes = 0
    /// Bodies with a file of their own.
    private(set) var files = 0
    private(set) var parts = 0
    private(set) var fresh = 0
    private(set) var stale = 0
    /// Validated before each use.
    private(set) var validated = 0
    /// Encrypted, or of another version.
    private(set) var unreadable = 0
    private(set) var partitions: [String] = []
    /// In the order of what they take.
    private(set) var hosts: [Host] = []
    private(set) var oldest: String?
    private(set) var lastUsed: String?

    init(name: String, directory: String, _ store: StoreInspector, now: WallTime) throws(ToolFailure) {
        cache = name
        self.directory = directory
        do throws(StoreError) { try read(store, now) } catch { throw CacheFolder.failure(error, directory) }
    }

    private mutating func read(_ store: StoreInspector, _ now: WallTime) throws(StoreError) {
        (responses, bytes) = try store.totals()
        var hosts: [String: Host] = [:]
        var partitions: Set<ExactString> = []
        var (oldest, lastUsed) = (Date.distantFuture, Date.distantPast)
        var last: Int64 = 0
        while true {
            let summaries = try store.list(after: last, limit: 500)
            guard let newest = summaries.last else { break }
            last = newest.id
            for summary in summaries {
                bodyBytes += summary.bodyLength
                files += summary.isFile ? 1 : 0
                partitions.insert(ExactString(summary.key.partition))
                oldest = min(oldest, summary.storedAt)
                lastUsed = max(lastUsed, summary.lastUsed)
                let host = add(CacheRecord(summary), now)
                hosts[host, default: Host(name: host)].responses += 1
                hosts[host]?.bytes += summary.cost
            }
        }
        self.partitions = partitions.map(\.text).sorted()
        self.hosts = hosts.values.sorted { ($0.bytes, $1.name) > ($1.bytes, $0.name) }
        guard last > 0 else { return }
        self.oldest = oldest.formatted(.iso8601)
        self.lastUsed = lastUsed.formatted(.iso8601)
    }

    /// - Returns: whose response it is.
    private mutating func add(_ record: CacheRecord?, _ now: WallTime) -> String {
        guard let record else {
            unreadable += 1
            return "-"
        }
        switch record.state(now: now) {
        case .fresh: fresh += 1
        case .stale: stale += 1
        case .validatedAlways: validated += 1
        }
        if record.isPart { parts += 1 }
        return record.host ?? "-"
    }

    // MARK: For people

    static let head = "RESPONSES      ON DISK  LAST USED             CACHE"

    var line: String {
        let (count, size) = (CacheTable.grouped(responses), ProgressBar.bytes(Int64(bytes)))
        func right(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
        return "\(right(count, 9))  \(right(size, 11))  \(lastUsed ?? "never               ")  \(CacheTable.printable(cache))"
    }

    var page: String {
        var lines = [
            CacheTable.printable(directory),
            "  responses   \(CacheTable.grouped(responses)): \(fresh) fresh, \(stale) stale, \(validated) validated at each use"
                + (parts > 0 ? ", \(parts) in part" : "") + (unreadable > 0 ? ", \(unreadable) unreadable here" : ""),
            "  bodies      \(ProgressBar.bytes(Int64(bodyBytes)))" + (files > 0 ? ", \(files) in files" : ""),
            "  on disk     \(ProgressBar.bytes(Int64(bytes)))",
        ]
        if let oldest, let lastUsed { lines.append("  oldest      \(oldest), last used \(lastUsed)") }
        if partitions != [""], !partitions.isEmpty {
            lines.append("  partitions  \(partitions.map(CacheTable.printable).joined(separator: ", "))")
        }
        for (index, host) in hosts.prefix(5).enumerated() {
            let name = index == 0 ? "hosts      " : "           "
            lines.append(
                "  \(name) \(CacheTable.printable(host.name)): \(CacheTable.total(host.responses, Int64(host.bytes)))")
        }
        if hosts.count > 5 { lines.append("              and \(hosts.count - 5) more") }
        return lines.joined(separator: "\n")
    }
}
