import CFaults
import CleanSlate
import Foundation
import Glibc
import HTTPTypes

@_spi(Census) @testable import ScopedNet

/// Takes one path again and again, each time with another call failing.
final class FaultLab {
    let setting: FaultSetting
    private var lines: [String] = []
    private var summary: [String] = []
    private(set) var isGood = true
    /// Of the round that is taken: what is neither a success nor an error that may be.
    var oddity: String?
    /// What is there between two rounds. Taken once, so that what each round leaves behind adds up and shows.
    private var baseline = ProcessInventory.now()

    init(_ setting: FaultSetting) { self.setting = setting }

    /// As the report names it.
    private var title: String { setting.faults == .calls ? setting.path.rawValue : "\(setting.path.rawValue), \(setting.faults.rawValue)" }

    func run() async throws {
        if setting.path.hasStore, faults_own_disk() != 0 { return complain("SQLite takes no other VFS") }
        await Self.warmUp()
        baseline = ProcessInventory.now()
        if setting.faults == .setUp { return try await failSetUp() }
        if setting.faults == .allocations {
            faults_own_memory()
            faults_report_crashes_of_libcurl(setting.report + "-crash")
        }
        // Whatever opens lazily and for good is opened now.
        for _ in 0..<3 { _ = try await take(failing: 0) }
        baseline = await settled()
        // A body comes in more or fewer pieces: the calls of a round vary, and every number that may come has its turn.
        var counts: [Int] = []
        var refusals: [NetworkError] = []
        for _ in 0..<3 {
            let unharmed = try await take(failing: 0)
            counts.append(unharmed.calls)
            if let problem = unharmed.problem { complain("without a failing call: \(problem)") }
            if let error = unharmed.error { refusals.append(error) }
        }
        // One may run out of its second on a busy machine.
        if refusals.count == counts.count, let error = refusals.first { complain("without a failing call: \(error)") }
        let (fewest, count) = (counts.min() ?? 0, counts.max() ?? 0)
        var failures: [String: Int] = [:]
        var errors: [String: Int] = [:]
        var recovered = 0
        let sample = FaultSample.ofThisRun(step: setting.path.step)
        for number in sample.numbers(from: setting.first, through: count) {
            let result = try await take(failing: number)
            guard let name = result.failed else { continue }
            failures[name, default: 0] += 1
            if let error = result.error { errors["\(error.code)", default: 0] += 1 } else { recovered += 1 }
            if let problem = result.problem { complain("call \(number) (\(name)): \(problem)") }
            summary = [
                "faults: \(title): \(count) calls (\(sample.description)), \(failures.values.reduce(0, +)) failed (\(Self.table(failures)))",
                "        recovered \(recovered); \(Self.table(errors))",
            ]
            // The next one may be libcurl's end, and this process's with it.
            if setting.faults == .allocations { write() }
        }
        let tally = FaultTally(calls: fewest, first: setting.first, step: sample.step, failed: failures.values.reduce(0, +))
        if let problem = tally.problem { complain(problem) }
        write()
    }

    /// Dispatch opens what it waits with when it is first asked to, and keeps it.
    private static func warmUp() async {
        try? await Task.sleep(for: .milliseconds(1))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
    }

    /// Until what three rounds without a failure have left is no more, or stays.
    private func settled() async -> ProcessInventory {
        var last = ProcessInventory.now()
        for _ in 0..<patience {
            last = ProcessInventory.now()
            if LiveObjects.snapshot().total == 0, !last.hasThreads { break }
            // Asked again and again: a thread's end shows in /proc alone, which tells nobody.
            try? await Task.sleep(for: .milliseconds(1))
        }
        return last
    }

    /// Milliseconds: the network thread goes by itself, a moment after its last session, and nothing announces it. A store's last connection may wait for
    /// a lock for five seconds before it is closed.
    private var patience: Int { setting.path.hasStore ? 15_000 : 3_000 }

    /// libcurl is set up once in a process, and that fails; what comes after finds it as it is.
    private func failSetUp() async throws {
        let first = try await take(failing: 1)
        let second = try await take(failing: 0)
        if first.failed == nil { complain("libcurl was not set up") }
        for round in [first, second] {
            if let problem = round.problem { complain(problem) }
            lines.append("faults: \(title): \(round.failed ?? "nothing") failed: \(round.error.map { "\($0.code)" } ?? "succeeded")")
        }
        write()
    }

    private static func failFirstSetUp() {
        let name: StaticString = "curl_global_init"
        name.withUTF8Buffer { bytes in bytes.withMemoryRebound(to: CChar.self) { faults_arm_first($0.baseAddress) } }
    }

    private static func table(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    private func complain(_ text: String) {
        isGood = false
        lines.append("✘ \(title): \(text)")
        write()
    }

    private func write() {
        try? ((lines + summary).joined(separator: "\n") + "\n").write(toFile: setting.report, atomically: true, encoding: .utf8)
    }

    // MARK: One round

    struct Round {
        var calls: Int
        var failed: String?
        var error: NetworkError?
        var problem: String?
    }

    private func take(failing number: Int) async throws -> Round {
        let folder = NSTemporaryDirectory() + "scopednet-faults-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let agent = RequestAgent()
        // A round that hangs ends the process, and the report says in which call.
        let watch = Task.detached { [setting, title, lines] in
            try await Task.sleep(for: .seconds(setting.path.hasStore ? 60 : 20))
            let name = faults_failed().map { String(cString: $0) } ?? "none"
            let text =
                (lines + ["✘ \(title): call \(number) (\(name)): hangs; \(LiveObjects.snapshot())"]).joined(separator: "\n")
                + "\n"
            try? text.write(toFile: setting.report, atomically: true, encoding: .utf8)
            exit(3)
        }
        switch setting.faults {
        case .calls: faults_arm(number)
        case .allocations: faults_arm_memory(number)
        case .setUp: if number > 0 { Self.failFirstSetUp() } else { faults_arm(0) }
        }
        oddity = nil
        let outcome: Result<Void, NetworkError>
        do throws(NetworkError) {
            try await walk(agent, folder)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await agent.waitUntilIdle()
        var round = Round(calls: faults_disarm(), failed: faults_failed().map { String(cString: $0) })
        if case .failure(let error) = outcome { round.error = error }
        round.problem = await leftBehind(folder, outcome) ?? oddity
        watch.cancel()
        return round
    }

    /// What is there though nothing should be, after a time in which everything could go: objects count as gone before what they hold has gone,
    /// a file to be removed, say.
    private func leftBehind(_ folder: String, _ outcome: Result<Void, NetworkError>) async -> String? {
        if case .failure(let error) = outcome, error.message.isEmpty { return "an error without a word" }
        for _ in 0..<patience {
            if leftover(folder, outcome) == nil { return nil }
            // As above: descriptors, threads and files are counted from outside, and no event says that the count fell.
            try? await Task.sleep(for: .milliseconds(1))
        }
        let last = leftover(folder, outcome)
        // Said once, and not of all rounds that follow.
        if last != nil { baseline = ProcessInventory.now() }
        return last
    }

    private func leftover(_ folder: String, _ outcome: Result<Void, NetworkError>) -> String? {
        let live = LiveObjects.snapshot()
        if live.total != 0 { return "still alive: \(live)" }
        if let excess = ProcessInventory.now().excess(over: baseline) { return excess }
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        // A part that could not be unlinked because unlink was the call that failed is nobody's fault.
        if case .failure = outcome, !files.allSatisfy({ $0 == "upload" }), faults_failed().map({ String(cString: $0) }) != "unlink" {
            return "files: \(files)"
        }
        return nil
    }

    // MARK: The paths

    private func walk(_ agent: RequestAgent, _ folder: String) async throws(NetworkError) {
        var configuration = Session.Configuration(agent: agent)
        configuration.proxy = .none
        configuration.options.timeouts.total = .seconds(1)
        if setting.path.isSecure { configuration.tls.certificateAuthority = .pem(setting.authority) }
        if [.pictures, .storedPictures].contains(setting.path) { return try await walkPictures(configuration) }
        let session = Session(configuration: configuration)
        let url = setting.url
        switch setting.path {
        case .memory, .http2:
            for _ in 0..<2 { _ = try await session.request(url + "/body").response() }
        case .file:
            _ = try await session.download(url + "/body", to: URL(fileURLWithPath: folder + "/file")).response()
        case .stream:
            var count = 0
            let response = try await session.stream(url + "/body", window: 32 << 10)
            for try await piece in response.bytes { count += piece.count }
            if count != 300_000 { throw NetworkError(.truncatedBody, phase: .receiving, message: "a stream ended early and said nothing") }
        case .upload:
            _ = FileManager.default.createFile(atPath: folder + "/upload", contents: Data(repeating: 1, count: 200_000))
            _ = try await session.request(url + "/echo", method: .post, body: .file(folder + "/upload")).response()
        case .redirect:
            _ = try await session.request(url + "/moved").response()
        case .retry:
            let policy = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1), backoffCap: .milliseconds(2))
            _ = try await session.request(url + "/body").options { $0.retry = policy }.response()
        case .cancellation:
            let run = session.request(url + "/stall").start()
            _ = try await session.request(url + "/body").response()
            run.cancel()
        case .bag:
            let bag = DeallocBag(label: "faults")
            for _ in 0..<3 { session.request(url + "/stall").start(in: bag) }
            _ = try await session.request(url + "/body").response()
            bag.end()
        case .suspension:
            let run = session.request(url + "/body").start()
            run.suspend()
            _ = try await session.request(url + "/body").response()
            run.resume()
            await agent.waitUntilIdle()
        // Above.
        case .pictures, .storedPictures: break
        }
        await session.shutdown()
    }
}
