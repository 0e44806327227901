import Foundation
import Glibc
import Testing

@testable import CleanSlate

/// Every suite leaves the process as it found it, and says so: one that forgets the trait is found here.
@Suite(.leavesNothing) struct SuiteTraitTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()

    private static let sources: [(name: String, text: String)] = {
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return names.filter { $0.hasSuffix(".swift") }.sorted().compactMap { name in
            (try? String(contentsOf: root.appending(path: name), encoding: .utf8)).map { (name, $0) }
        }
    }()

    /// The suites of a text without the trait. `@Suite` may stand on the line before its type.
    static func suitesWithoutTrait(in text: String) -> [String] {
        var bare: [String] = []
        let type = /(?m)^(@\w+ )*(@Suite(?<traits>\(.*\))?\s+)?(@MainActor )?(final )?(struct|class|enum|actor) (?<name>\w+)/
        for match in text.matches(of: type) {
            let rest = text[match.range.upperBound...]
            let body = rest.prefix(upTo: rest.range(of: "\n}")?.lowerBound ?? rest.endIndex)
            let isSuite = match.output.0.contains("@Suite") || body.contains(/\n {4}@Test\b|\n {4}@MainActor @Test\b/)
            let traits = match.output.traits ?? ""
            if isSuite, !traits.contains(".leavesNothing") { bare.append(String(match.output.name)) }
        }
        return bare
    }

    @Test func everySuiteHasTheTrait() {
        let sources = Self.sources
        #expect(sources.count > 100)
        for source in sources {
            let bare = Self.suitesWithoutTrait(in: source.text)
            #expect(bare.isEmpty, "\(source.name): \(bare.joined(separator: ", "))")
        }
    }

    @Test func aSuiteWithoutTheTraitIsFound() {
        let with = "@Suite(.leavesNothing, .serialized)\nstruct ATests {\n    @Test func a() {}\n}\n"
        let without = "@Suite(.serialized) struct BTests {\n    @Test func b() {}\n}\n"
        let plain = "struct CTests {\n    @Test func c() {}\n}\n"
        let none = "struct Helper {\n    func d() {}\n}\n"
        let found = Self.suitesWithoutTrait(in: with + without + plain + none)
        #expect(found == ["BTests", "CTests"])
    }

    // MARK: What the trait looks at

    @Test func aDescriptorLeftOpenIsSeen() throws {
        let before = ProcessInventory.now()
        let path = NSTemporaryDirectory() + "left-open-\(UUID().uuidString)"
        let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        let excess = ProcessInventory.now().excess(over: before)
        close(descriptor)
        unlink(path)
        #expect(excess?.contains("descriptor \(path): 0 became 1") == true)
        let rest = ProcessInventory.now().excess(over: before)
        #expect(rest?.contains(path) != true)
    }

    @Test func aThreadOfTheHouseIsSeen() async {
        let (named, leave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let thread = Thread {
            try? "NIO-ELT-test".write(toFile: "/proc/thread-self/comm", atomically: false, encoding: .utf8)
            named.signal()
            leave.wait()
        }
        thread.start()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                named.wait()
                continuation.resume()
            }
        }
        let now = ProcessInventory.now()
        leave.signal()
        #expect(now.threads["NIO-ELT", default: 0] > 0)
        #expect(now.excess(over: ProcessInventory())?.contains("thread NIO-ELT: 0 became") == true)
        #expect(now.excess(over: now) == nil)
    }

    @Test(arguments: [
        ("socket:[4711]", "socket"), ("anon_inode:[eventpoll]", "eventpoll"), ("pipe:[12]", "pipe"), ("/tmp/x:y", "/tmp/x:y"),
    ])
    func descriptorsAreCountedByKind(target: String, kind: String) { #expect(ProcessInventory.kind(of: target) == kind) }

    @Test func aProgramThatWasStartedLeavesNothing() async throws {
        let result = try await ChildProcess(["sh", "-c", "echo out; echo err >&2; exit 7"]).end()
        #expect(result.status == 7 && result.output == "out\n" && result.errors == "err\n")
        let killed = try ChildProcess(["sleep", "600"])
        killed.kill()
        let status = await killed.end().status
        #expect(status == 128 + SIGKILL)
        #expect(throws: ChildProcess.Failure.self) { try ChildProcess(["/nowhere/at/all"]) }
    }
}
