import CleanSlate
import Foundation
import Glibc
import Persistence
import ScopedNet
import ScopedNetTestServer
import TestProcesses
import Testing

@testable import ScopedNetTool

/// `scopednet cache`, on what a session has stored.
@Suite(.leavesNothing, .serialized) struct CacheTests {
    private struct Line: Decodable {
        struct Field: Decodable { let name: String, value: String }
        let url: String, method: String, status: Int, type: String?, bytes: Int, state: String, seconds: Double?, isFile: Bool
        let partition: String, vary: [String], headers: [Field]?
    }

    private struct Totals: Decodable {
        struct Host: Decodable { let name: String, responses: Int }
        let responses: Int, fresh: Int, stale: Int, validated: Int, unreadable: Int, files: Int, hosts: [Host], partitions: [String]
    }

    private static func lines(_ text: String) throws -> [Line] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Line.self, from: Data($0.utf8)) }
    }

    /// Makes a folder of caches with one in it, as a program leaves it. `body` gets the environment for the tool, and the URL of the
    /// server.
    private func withCache(
        mode: StoreConfiguration.Mode = .private, staysOpen: Bool = false, _ body: (Folder, String) async throws -> Void
    ) async throws {
        let folder = try Folder()
        try await withServer { server in
            server.on(
                "/fresh", .ok("fresh").header("Cache-Control", "max-age=600").header("Set-Cookie", "a=b").header("Vary", "Accept-Language"))
            server.on("/stale", .ok("stale").header("Cache-Control", "max-age=1").header("Age", "100").header("ETag", "\"1\""))
            let large = String(repeating: "x", count: 200_000)
            server.on("/asked", .ok(large).header("Cache-Control", "no-cache").header("ETag", "\"2\""))
            let cache = ResponseCache(StoreConfiguration(directory: folder.path("com.example.test"), mode: mode))
            var configuration = Session.Configuration()
            configuration.cache = cache
            let session = Session(configuration: configuration)
            for path in ["/fresh", "/stale", "/asked"] { _ = try await session.send(server.url + path) }
            _ = try await session.request(server.url + "/fresh?token=hush").options { $0.cache.partition = "anna" }.value()
            await session.shutdown()
            try await cache.flush()
            if !staysOpen { await cache.store.close() }
            try await body(folder, server.url)
            await cache.store.close()
        }
    }

    private func run(_ folder: Folder, _ arguments: String...) async throws -> ProgramResult {
        try await ProgramRun([toolPath, "cache"] + arguments, environment: ["XDG_CACHE_HOME": folder.url.path]).result()
    }

    @Test func listIsATableWithATotal() async throws {
        try await withCache { folder, url in
            let result = try await run(folder, "list", "com.example.test")
            #expect(result.status == 0 && result.errors == "", "\(result)")
            let lines = result.output.split(separator: "\n")
            try #require(lines.count == 6, "\(result)")
            #expect(lines[0].hasPrefix("STATUS  TYPE"))
            #expect(lines[1].contains("fresh 9m") && lines[1].hasSuffix(url + "/fresh"))
            let staleness = lines[2].firstMatch(of: #/stale (99|1[0-9]{2})s /#)
            #expect(staleness != nil && lines[2].hasSuffix(url + "/stale"), "stale since 99 s when it came")
            #expect(lines[3].contains("validate ") && lines[3].contains("195.3 KiB") && lines[3].hasSuffix(url + "/asked"))
            #expect(lines[4].hasSuffix(url + "/fresh?token=***"))
            #expect(lines[5].hasPrefix("4 responses, "))
            let columns = Set(lines[1...4].map { $0.distance(from: $0.startIndex, to: $0.firstRange(of: "http")!.lowerBound) })
            #expect(columns.count == 1)
        }
    }

    @Test func listAsJSONCanBeNarrowedDown() async throws {
        try await withCache { folder, url in
            let all = try Self.lines(try await run(folder, "list", "--json", "com.example.test").output)
            #expect(all.map(\.state) == ["fresh", "stale", "validate", "fresh"] && all.map(\.status) == [200, 200, 200, 200])
            #expect(all.map(\.bytes) == [5, 5, 200_000, 5] && all.map(\.isFile) == [false, false, true, false])
            let anna = try Self.lines(
                try await run(folder, "list", "--json", "--secrets", "--partition", "anna", "com.example.test").output)
            #expect(anna.map(\.url) == [url + "/fresh?token=hush"] && anna.first?.partition == "anna")
            let nobody = try Self.lines(try await run(folder, "list", "--json", "--partition", "", "com.example.test").output)
            #expect(nobody.count == 3)
            let two = try Self.lines(try await run(folder, "list", "--json", "-n", "2", folder.path("com.example.test")).output)
            #expect(two.count == 2)
            let matching = try Self.lines(try await run(folder, "list", "--json", "--match", "/ask", "com.example.test").output)
            #expect(matching.map(\.url) == [url + "/asked"])
        }
    }

    @Test func showPrintsOneWithItsFieldsAndWithoutItsSecrets() async throws {
        try await withCache { folder, url in
            let page = try await run(folder, "show", "com.example.test", url.uppercased().replacing("HTTP:", with: "http:") + "/fresh")
            #expect(page.status == 0 && page.output.contains("state       fresh 9m, cannot be validated"), "\(page)")
            #expect(page.output.contains("of 10m (max-age)") && page.output.contains("varies by   accept-language"))
            #expect(page.output.contains("  Set-Cookie: ***\n") && !page.output.contains("a=b"))
            let json = try await run(folder, "show", "--json", "--secrets", "com.example.test", url + "/fresh")
            let report = try #require(try Self.lines(json.output).first)
            #expect(report.vary == ["accept-language"] && report.headers?.contains { $0.name == "Set-Cookie" && $0.value == "a=b" } == true)
            let none = try await run(folder, "show", "com.example.test", url + "/nothing")
            #expect(none.status == 1 && none.output == "" && none.errors.contains("nothing is stored"))
        }
    }

    @Test func showWritesTheBodyAsItIsStored() async throws {
        try await withCache { folder, url in
            let result = try await run(folder, "show", "--body", "com.example.test", url + "/asked")
            #expect(result.status == 0 && result.output == String(repeating: "x", count: 200_000) && result.errors == "")
            let small = try await run(folder, "show", "--body", "com.example.test", url + "/stale")
            #expect(small.output == "stale")
        }
    }

    @Test func statsSumUpOneOrAll() async throws {
        try await withCache { folder, url in
            let page = try await run(folder, "stats", "com.example.test")
            #expect(page.output.contains("responses   4: 2 fresh, 1 stale, 1 validated at each use\n"), "\(page)")
            #expect(page.output.contains(", 1 in files\n") && page.output.contains("hosts       127.0.0.1: 4 responses"))
            let json = try await run(folder, "stats", "--json", "com.example.test")
            let totals = try JSONDecoder().decode(Totals.self, from: Data(json.output.utf8))
            #expect(totals.responses == 4 && totals.files == 1 && totals.unreadable == 0 && totals.partitions == ["", "anna"])
            let all = try await run(folder, "stats")
            let lines = all.output.split(separator: "\n")
            #expect(lines.count == 2 && lines.last?.hasSuffix("  com.example.test") == true, "\(all)")
        }
    }

    @Test func aCacheInUseCanBeLookedAtAndNotCleared() async throws {
        try await withCache(staysOpen: true) { folder, _ in
            let listed = try await run(folder, "list", "com.example.test")
            let verified = try await run(folder, "verify", "com.example.test")
            #expect(listed.status == 0 && listed.output.contains("4 responses") && verified.status == 0, "\(listed) \(verified)")
            let cleared = try await run(folder, "clear", "com.example.test")
            #expect(cleared.status == 75 && cleared.errors.contains("another process uses the store"), "\(cleared)")
            let after = try await run(folder, "list", "com.example.test")
            // All but the times.
            func kept(_ text: String) -> [Substring] { text.split(separator: "\n").compactMap { $0.split(separator: " ").last } }
            #expect(kept(after.output) == kept(listed.output) && after.output.contains("4 responses"))
        }
    }

    @Test func clearRemovesAURLAPartitionOrAll() async throws {
        try await withCache { folder, url in
            let one = try await run(folder, "clear", "--url", url + "/asked", "com.example.test")
            #expect(one.status == 0 && one.output.hasPrefix("removed 1 response, "), "\(one)")
            let anna = try await run(folder, "clear", "--partition", "anna", "com.example.test")
            #expect(anna.output.hasPrefix("removed 1 response, "), "\(anna)")
            let left = try Self.lines(try await run(folder, "list", "--json", "com.example.test").output)
            #expect(left.map(\.url) == [url + "/fresh", url + "/stale"])
            let all = try await run(folder, "clear", "com.example.test")
            #expect(all.output.hasPrefix("removed 2 responses, "))
            let bodies = FileManager.default.enumerator(atPath: folder.path("com.example.test/bodies-1"))
            let files = bodies?.filter { "\($0)".count > 2 } ?? []
            #expect(files.isEmpty)
        }
    }

    @Test func aSharedCacheIsClearedUnderItsProgram() async throws {
        try await withCache(mode: .shared, staysOpen: true) { folder, _ in
            let cleared = try await run(folder, "clear", "com.example.test")
            #expect(cleared.status == 0 && cleared.output.hasPrefix("removed 4 responses, "), "\(cleared)")
        }
    }

    @Test func verifyNamesWhatIsDamagedAndChangesNothing() async throws {
        try await withCache { folder, _ in
            let well = try await run(folder, "verify", "com.example.test")
            #expect(well.status == 0 && well.output.hasPrefix("4 responses, ") && well.output.hasSuffix(": all is well\n"), "\(well)")
            let bodies = folder.path("com.example.test/bodies-1")
            let name = try #require(FileManager.default.enumerator(atPath: bodies)?.first { "\($0)".count > 2 }.map { "\($0)" })
            let handle = try FileHandle(forUpdating: URL(filePath: bodies + "/" + name))
            try handle.seek(toOffset: 1_000)
            try handle.write(contentsOf: Data("!".utf8))
            try handle.close()
            let damaged = try await run(folder, "verify", "com.example.test")
            #expect(damaged.status == 65 && damaged.output.contains("/asked") && damaged.output.hasSuffix(": 1 problem\n"), "\(damaged)")
            let json = try await run(folder, "verify", "--json", "com.example.test")
            #expect(json.status == 65 && json.output.contains("\"problems\":[\"the body of"), "\(json)")
        }
    }

    @Test func aFileThatIsNoDatabaseIsReportedAndLeft() async throws {
        try await withCache { folder, _ in
            let path = folder.path("com.example.test/store-1.sqlite")
            try Data(repeating: 7, count: 20_000).write(to: URL(filePath: path))
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            let verified = try await run(folder, "verify", "com.example.test")
            let listed = try await run(folder, "list", "com.example.test")
            #expect(verified.status == 65 && listed.status == 65 && listed.errors.contains("damaged"), "\(verified) \(listed)")
            let bytes = try Data(contentsOf: URL(filePath: path))
            #expect(bytes == Data(repeating: 7, count: 20_000))
            let cleared = try await run(folder, "clear", "com.example.test")
            #expect(cleared.status == 0, "\(cleared)")
            let again = try await run(folder, "verify", "com.example.test")
            #expect(again.status == 0 && again.output.hasPrefix("0 responses"), "\(again)")
        }
    }

    @Test func whatIsNotThereIs66AndNothingIsMade() async throws {
        let folder = try Folder()
        for command in [["list"], ["stats"], ["clear"], ["verify"]] {
            let result = try await ProgramRun(
                [toolPath, "cache"] + command + ["com.example.none"], environment: ["XDG_CACHE_HOME": folder.url.path]
            ).result()
            #expect(result.status == 66 && result.output == "" && result.errors.contains("there is no cache"), "\(command): \(result)")
        }
        #expect(folder.names == [])
        let all = try await run(folder, "stats")
        #expect(all.status == 0 && all.errors.contains("there are no caches"))
        let wrong = try await run(folder, "list")
        #expect(wrong.status == 64)
    }

    @Test func anotherProgramsDatabaseIsLeftAlone() async throws {
        let folder = try Folder()
        try FileManager.default.createDirectory(atPath: folder.path("other"), withIntermediateDirectories: true)
        let path = folder.path("other/store-1.sqlite")
        try Data().write(to: URL(filePath: path))
        let cleared = try await run(folder, "clear", "other")
        #expect(cleared.status == 71 && cleared.errors.contains("another program"), "\(cleared)")
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(!FileManager.default.fileExists(atPath: folder.path("other/store-1.lock")))
    }
}

@Suite(.leavesNothing) struct CacheTableTests {
    @Test(arguments: [
        (0.0, "0s"), (119.9, "119s"), (120, "2m"), (7_199, "119m"), (7_200, "2h"), (172_800, "2d"), (-5, "0s"), (.infinity, "11574074d"),
    ])
    func spansAreShort(_ seconds: Double, _ text: String) { #expect(CacheTable.span(seconds) == text) }

    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-1_000, "-1,000")])
    func numbersAreGrouped(_ number: Int, _ text: String) { #expect(CacheTable.grouped(number) == text) }

    private func report(
        _ url: String = "http://h/a", method: String = "GET", partition: String = "", type: String? = "text/html", bytes: Int = 2_048,
        whole: Int64? = nil, isPart: Bool = false, isFile: Bool = false, state: String = "fresh", seconds: Double? = 600,
        source: String = "maxAge", hasValidators: Bool = true, vary: [String] = [], headers: [CacheReport.Field]? = nil
    ) -> CacheReport {
        CacheReport(
            url: url, method: method, partition: partition, status: 200, type: type, bytes: bytes, wholeBytes: whole, isPart: isPart,
            isFile: isFile, diskBytes: 4_096, state: state, seconds: seconds, age: 60, lifetime: 660, lifetimeSource: source,
            hasValidators: hasValidators, storedAt: "2026-11-21T10:00:00Z", lastUsed: "2026-11-21T11:00:00Z", sinceStored: 3_600,
            vary: vary,
            headers: headers)
    }

    @Test func aLineStandsUnderItsHead() {
        let line = CacheTable.line(report())
        #expect(line == "200     text/html                     2.0 KiB  60m ago   fresh 10m     http://h/a")
        let columns = CacheTable.head.ranges(of: /STATE|URL/).map {
            CacheTable.head.distance(from: CacheTable.head.startIndex, to: $0.lowerBound)
        }
        let found = ["fresh", "http"].compactMap { word in
            line.range(of: word).map { line.distance(from: line.startIndex, to: $0.lowerBound) }
        }
        #expect(columns == found)
    }

    @Test func whatIsLongOrOddIsShownShort() {
        let line = CacheTable.line(
            report("http://h/\u{1B}", method: "POST", type: "application/vnd.example.long", isPart: true, seconds: nil))
        #expect(line.contains("application/vnd.exa…  "))
        #expect(line.contains("  part 2.0 KiB  "))
        #expect(line.hasSuffix("fresh         POST http://h/\u{FFFD}"))
        #expect(CacheTable.line(report(type: nil)).hasPrefix("200     -      "))
        // As wide as the column, and one more.
        #expect(CacheTable.line(report(type: String(repeating: "t", count: 20))).contains(String(repeating: "t", count: 20)))
        #expect(CacheTable.line(report(type: String(repeating: "t", count: 21))).contains(String(repeating: "t", count: 19) + "…"))
    }

    @Test func aPageSaysEverything() {
        let page = CacheTable.page(
            report(
                partition: "p\n", whole: 10_240, isPart: true, isFile: true, vary: ["accept", "cookie"],
                headers: [.init(name: "ETag", value: "\"a\u{7}\"")]))
        let lines = page.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "http://h/a", "  state       fresh 10m, can be validated", "  age         60s of 11m (max-age)",
                "  body        2.0 KiB of 10.0 KiB, in a file", "  on disk     4.0 KiB",
                "  stored      2026-11-21T10:00:00Z, last used 2026-11-21T11:00:00Z", "  partition   p\u{FFFD}",
                "  varies by   accept, cookie", "  200", "  ETag: \"a\u{FFFD}\"",
            ])
    }

    @Test func aPageSaysNoMoreThanThereIs() {
        let page = CacheTable.page(report(isPart: true, state: "validate", seconds: nil, hasValidators: false))
        #expect(page.contains("state       validate, cannot be validated"))
        #expect(page.contains("2.0 KiB of a part"))
        #expect(!page.contains("partition") && !page.contains("varies by") && page.hasSuffix("\n  200"))
    }

    @Test(arguments: [
        ("maxAge", "max-age"), ("expires", "Expires"), ("heuristic", "a guess from Last-Modified"), ("policy", "the policy"),
        ("none", "nobody says how long"),
    ])
    func theSourceOfALifetimeIsNamed(_ source: String, _ text: String) {
        #expect(CacheTable.page(report(source: source)).contains("(\(text))"))
    }

    @Test func totalsAreCounted() {
        #expect(CacheTable.total(1, 1_024) == "1 response, 1.0 KiB on disk")
        #expect(CacheTable.total(1_200, 0) == "1,200 responses, 0 B on disk")
        #expect(CacheTable.count(0, "part") == "0 parts")
    }

    @Test func whatAServerSentCannotMoveTheCursor() {
        #expect(CacheTable.printable("a\u{1B}[2Jb\rc\nd\u{9B}e") == "a\u{FFFD}[2Jb\u{FFFD}c\u{FFFD}d\u{FFFD}e")
        let problem = "the body of GET http://ann:pw@h/\u{1B}[2J\u{202E}?token=hush&a=b: cut short"
        #expect(CacheVerifyCommand.shown(problem) == #"the body of GET http://***@h/\x1B[2J\x202E?token=***&a=b: cut short"#)
        #expect(CacheTable.printable("moc.\u{202E}elpmaxe\u{2066}\u{200F}") == "moc.\u{FFFD}elpmaxe\u{FFFD}\u{FFFD}")
    }
}
