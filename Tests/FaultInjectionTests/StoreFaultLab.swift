import CFaults
import CleanSlate
import Foundation
import Glibc
import SystemSupport

@testable import Persistence

/// Takes one path of the store again and again, each time with another call failing.
final class StoreFaultLab {
    let setting: StoreFaultSetting
    let folder: String
    private var lines: [String] = []
    private(set) var isGood = true
    /// The disk stays broken after the call that fails.
    private(set) var isBreaking = false
    /// What is there between two rounds. Taken once, so that what each round leaves behind adds up and shows.
    private var baseline = ProcessInventory.now()

    init(_ setting: StoreFaultSetting) throws {
        self.setting = setting
        folder = NSTemporaryDirectory() + "scopednet-store-faults-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func run() async throws {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard faults_own_disk() == 0 else { return complain("SQLite takes no other VFS") }
        try await makeTemplate()
        for _ in 0..<2 { _ = try await take(failing: 0) }
        baseline = ProcessInventory.now()
        if let problem = try await take(failing: 0).problem { complain("without a failing call: \(problem)") }
        for isBreaking in [false, true] {
            faults_disk_stays_broken(isBreaking ? 1 : 0)
            self.isBreaking = isBreaking
            try await failEach(isBreaking)
        }
        write()
    }

    private func failEach(_ isBreaking: Bool) async throws {
        // Who waits for a lock asks more often: the calls of a round vary, and every number that may come has its turn.
        var counts: [Int] = []
        for _ in 0..<3 { counts.append(try await take(failing: 0).calls) }
        let (fewest, count) = (counts.min() ?? 0, counts.max() ?? 0)
        var failures: [String: Int] = [:]
        var errors: [String: Int] = [:]
        var served = 0
        let sample = FaultSample.ofThisRun()
        for number in sample.numbers(from: 1, through: count) {
            let round = try await take(failing: number)
            guard let name = round.failed else { continue }
            failures[name, default: 0] += 1
            if let error = round.error { errors["\(error.code)", default: 0] += 1 } else { served += 1 }
            if let problem = round.problem { complain("call \(number) (\(name))\(isBreaking ? " and all after it" : ""): \(problem)") }
        }
        let failed = failures.values.reduce(0, +)
        if let problem = FaultTally(calls: fewest, step: sample.step, failed: failed).problem { complain(problem) }
        let title = "store faults: \(setting.path.rawValue)\(isBreaking ? ", breaking" : "")"
        lines.append("\(title): \(count) calls (\(sample.description)), \(failed) failed (\(table(failures)))")
        lines.append("        without an error \(served); \(table(errors))")
        write()
    }

    private func table(_ counts: [String: Int]) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    }

    private func complain(_ text: String) {
        isGood = false
        lines.append("✘ \(setting.path.rawValue): \(text)")
        write()
    }

    private func write() { try? (lines.joined(separator: "\n") + "\n").write(toFile: setting.report, atomically: true, encoding: .utf8) }

    // MARK: One round

    struct Round {
        var calls: Int
        var failed: String?
        var error: StoreError?
        var problem: String?
    }

    private func take(failing number: Int) async throws -> Round {
        let directory = folder + "/store"
        try? FileManager.default.removeItem(atPath: directory)
        if setting.path != .make { try FileManager.default.copyItem(atPath: folder + "/template", toPath: directory) }
        let watch = watch(number)
        let events = Lock<[StoreEvent]>([])
        var configuration = configuration(directory)
        configuration.onEvent = { event in events.withLock { $0.append(event) } }
        var problem: String?
        weak var engine: StoreEngine?
        let outcome: Result<Void, StoreError>
        faults_arm(number)
        do {
            let store = Store(configuration)
            engine = store.engine
            do throws(StoreError) {
                try await walk(store)
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            problem = await told(by: store)
            await store.close()
        }
        var round = Round(calls: faults_disarm(), failed: faults_failed().map { String(cString: $0) })
        faults_repair_disk()
        if case .failure(let error) = outcome {
            round.error = error
            if error.message.isEmpty { problem = "an error without a word" }
        }
        // A file that cannot be read is removed, also where the disk then takes no new one.
        let isRemoved = (Files.status(of: StoreFolder(directory).database)?.size ?? 0) == 0
        let isReplaced = isRemoved || events.withLock { $0.contains { if case .replaced = $0 { true } else { false } } }
        if problem == nil { problem = await leftBehind(directory, round.failed) { engine == nil } }
        if problem == nil { problem = await kept(in: directory, outcome, isReplaced: isReplaced) }
        round.problem = problem
        watch.cancel()
        return round
    }

    /// A round that hangs ends the process, and the report says in which call.
    private func watch(_ number: Int) -> Task<Void, any Error> {
        Task.detached { [setting, lines] in
            try await Task.sleep(for: .seconds(60))
            let name = faults_failed().map { String(cString: $0) } ?? "none"
            let text = (lines + ["✘ \(setting.path.rawValue): call \(number) (\(name)): hangs"]).joined(separator: "\n") + "\n"
            try? text.write(toFile: setting.report, atomically: true, encoding: .utf8)
            exit(3)
        }
    }

    private func leftBehind(_ directory: String, _ failed: String?, isGone: () -> Bool) async -> String? {
        // The store's threads go by themselves, a moment after it is closed; nothing announces it. The last reference to a connection may be a
        // reader's, and to close it may take as long as a connection waits for a lock, which is five seconds.
        let deadline = ContinuousClock.now + .seconds(15)
        while ContinuousClock.now < deadline {
            if leftover(directory, failed, isGone: isGone) == nil { return nil }
            try? await Task.sleep(for: .milliseconds(1))
        }
        let last = leftover(directory, failed, isGone: isGone)
        // Said once, and not of all rounds that follow.
        if last != nil { baseline = ProcessInventory.now() }
        return last
    }

    private func leftover(_ directory: String, _ failed: String?, isGone: () -> Bool) -> String? {
        guard isGone() else { return "the closed store is still alive" }
        if let excess = ProcessInventory.now().excess(over: baseline) { return excess }
        // A part that could not be removed because `unlinkat` was the call that failed is the next sweep's.
        let parts = Files.names(in: StoreFolder(directory).temporary)
        return parts.isEmpty || failed == "unlinkat" ? nil : "parts of bodies: \(parts)"
    }
}
