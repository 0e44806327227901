import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import TestProcesses
import Testing

/// A host program in trouble, played by `HostileProbe` in a process of its own. In each scenario unrelated requests keep their clocks, every run
/// ends once, errors have a type, and afterwards threads, descriptors and objects are those of the beginning.
@Suite(.leavesNothing, .serialized, .alone, .timeLimit(.minutes(10)))
struct HostileEnvironmentTests {
    private static let isRoot = geteuid() == 0

    /// Plays a scenario and passes its verdict on.
    private func play(_ scenario: String) async throws {
        let verdict = try await verdict(of: scenario)
        for problem in verdict.problems { Issue.record("\(scenario): \(problem)") }
        print(verdict.summary)
    }

    private func verdict(of scenario: String) async throws -> ProbeVerdict {
        let folder = try Folder()
        let servers = HostileServers()
        try await servers.start()
        let words = [product("HostileProbe"), scenario, servers.hostile.url, servers.unrelated.url, folder.url.path]
        var result = await (try ProgramRun(words, environment: ["TMPDIR": folder.url.path])).result(within: 590)
        // Not the library's end: libdispatch looks at its worker threads once a second, and traps where it cannot open /proc/self/task/…/stat
        // (`_dispatch_workq_monitor_pools`, seen in a core file). It says nothing then, where Swift's own traps do.
        for _ in 0..<3 where scenario == "no-descriptors" && result.status == 128 + SIGILL && !result.errors.contains("atal error") {
            print("hostile: no-descriptors: libdispatch itself found no descriptor for its look at its threads; once more")
            result = await (try ProgramRun(words, environment: ["TMPDIR": folder.url.path])).result(within: 590)
        }
        await servers.stop()
        let verdict = try #require(ProbeVerdict(output: result.output), "\(scenario): \(result)")
        #expect(result.status == (verdict.problems.isEmpty ? 0 : result.status), "\(scenario): \(result)")
        #expect(verdict.scenario == scenario)
        return verdict
    }

    // MARK: Disks

    @Test(.enabled(if: isRoot, "mounting takes root")) func fullDisk() async throws { try await play("full-disk") }

    @Test(.enabled(if: isRoot, "mounting takes root")) func readOnlyDisk() async throws { try await play("read-only-disk") }
    @Test(.enabled(if: isRoot, "only root can make what others may not read")) func noPermission() async throws {
        try await play("no-permission")
    }
    @Test(.enabled(if: FreezableDisk.isAvailable, FreezableDisk.obstacle)) func frozenDisk() async throws { try await play("frozen-disk") }

    // MARK: Folders

    @Test(.enabled(if: isRoot, "giving files away takes root")) func folderOfAnotherUser() async throws { try await play("foreign-folder") }
    @Test func symbolicLinks() async throws { try await play("symlinks") }

    // MARK: The machine

    @Test(.enabled(if: isRoot, "mounting takes root")) func deadResolver() async throws { try await play("dead-resolver") }
    @Test func pausedProcess() async throws { try await play("paused-process") }
    @Test func steppedClock() async throws { try await play("stepped-clock") }

    // MARK: The host program

    @Test func noDescriptors() async throws { try await play("no-descriptors") }
    @Test func thousandThreads() async throws { try await play("many-threads") }
    @Test func forkWithoutExec() async throws { try await play("fork-without-exec") }

    // MARK: The probe itself

    @Test func theProbeNoticesWhatDoesNotHold() async throws {
        let problems = try await verdict(of: "misbehaviour").problems
        for part in ["left: descriptor /dev/zero: 0 became 1", "2 ends", "no end within", "totalTimeout"] {
            #expect(problems.contains { $0.contains(part) }, "\(part) was not noticed: \(problems)")
        }
    }

    @Test func aProgramThatDiesHasNoVerdict() {
        #expect(ProbeVerdict(output: "scopednet: something\n\n{\"problems\":") == nil)
        var verdict = ProbeVerdict(scenario: "a")
        verdict.problems = ["one \"two\"\nthree"]
        #expect(ProbeVerdict(output: "noise\n" + verdict.line + "\n")?.problems == verdict.problems)
    }
}
