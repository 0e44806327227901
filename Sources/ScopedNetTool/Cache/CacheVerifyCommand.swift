#if CommandLineTool
import ArgumentParser
import Persistence
import ScopedNet

struct CacheVerifyCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Read everything a cache holds, and say what is wrong.",
        discussion: """
            Checks SQLite's structures, the checksum of each row and body, the files of large bodies, the totals, and that each entry is a response. \
            The exit status is 65 when something is wrong. Nothing is repaired: a program that meets a damaged entry removes it, and a damaged \
            file it replaces.
            """)

    @Argument(help: "The cache: a name in the user's caches, or the path of a folder.")
    var cache: String

    @Flag(help: "Print one JSON object.")
    var json = false

    private struct Report: Encodable {
        let cache: String
        let entries: Int
        let bytes: Int
        let problems: [String]
    }

    func execute() async throws(ToolFailure) {
        let directory = try CacheFolder.path(of: cache)
        let console = Console()
        var found = VerificationSummary()
        do throws(StoreError) {
            let store = try StoreInspector(directory: directory)
            let report = try store.verify()
            found = VerificationSummary(entries: report.entries, bytes: report.bytes, problems: report.problems)
            found.problems += try unreadable(store)
        } catch {
            guard error.code == .damaged else { throw CacheFolder.failure(error, directory) }
            found.problems.append("\(error)")
        }
        found.problems = found.problems.map(Self.shown)
        if json {
            try console.print(
                line: JSONText.line(Report(cache: cache, entries: found.entries, bytes: found.bytes, problems: found.problems)))
        } else {
            for problem in found.problems { try console.print(line: problem) }
            let verdict = found.problems.isEmpty ? "all is well" : CacheTable.count(found.problems.count, "problem")
            try console.print(line: "\(CacheTable.total(found.entries, Int64(found.bytes))): \(verdict)")
        }
        if !found.problems.isEmpty { throw ToolFailure(.damaged, nil) }
    }

    /// A problem as it may be printed: it names the key of its entry, which a server may have chosen
    /// and which may hold a token.
    static func shown(_ problem: String) -> String {
        ShownField.withoutSecretItems(ShownField.withoutUserinfo(problem)).printable
    }

    private struct VerificationSummary {
        var entries = 0
        var bytes = 0
        var problems: [String] = []
    }

    /// What the store kept right and yet is no response.
    private func unreadable(_ store: StoreInspector) throws(StoreError) -> [String] {
        guard store.contentVersion == StoredResponse.codingVersion else { return [] }
        var problems: [String] = []
        var last: Int64 = 0
        while true {
            let summaries = try store.list(after: last, limit: 500)
            guard let newest = summaries.last else { return problems }
            last = newest.id
            for summary in summaries where CacheRecord(summary) == nil { problems.append("\(summary.key): its head is no response") }
        }
    }
}
#endif
