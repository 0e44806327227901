import CleanSlate
import Foundation
import Glibc
import TestProcesses
import Testing

/// `scopednet path` and `scopednet watch` in network namespaces of their own.
@Suite(.leavesNothing, .serialized, .enabled(if: Namespace.isAvailable, Namespace.obstacle)) struct PathTests {
    private struct Report: Decodable {
        struct Interface: Decodable { let name: String, kind: String }
        let time: String, target: String, status: String, reason: String?, ipv4: Bool, ipv6: Bool
        let interfaces: [Interface], gateways: [String], localAddresses: [String], changed: [String]
    }

    private static func reports(_ text: String) throws -> [Report] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(Report.self, from: Data($0.utf8)) }
    }

    /// The tool, to its end, in the namespace of this thread.
    private static func run(_ arguments: String...) throws -> ProgramResult {
        try ProgramRun([toolPath] + arguments).blockUntilResult()
    }

    @Test func withoutARouteThereIsNoWay() async throws {
        let (plain, json) = try await Namespace.run { (try Self.run("path"), try Self.run("path", "--json", "192.0.2.1")) }
        #expect(plain.status == 1)
        #expect(plain.output == "unsatisfied (noRoute)\n" && plain.errors == "")
        #expect(json.status == 1)
        let report = try #require(try Self.reports(json.output).first)
        #expect(report.status == "unsatisfied" && report.reason == "noRoute" && report.target == "192.0.2.1")
    }

    @Test func credentialsOfAURLAreNotShown() async throws {
        let url = "https://user:hunter2@192.0.2.1/"
        let (path, watch, wrong) = try await Namespace.run {
            (
                try Self.run("path", "--json", url), try Self.run("watch", "--json", "-n", "1", url),
                try Self.run("path", "https://user:hunter2@[x/")
            )
        }
        for result in [path, watch, wrong] { #expect(!(result.output + result.errors).contains("hunter2"), "\(result)") }
        let targets = try Self.reports(path.output + watch.output).map(\.target)
        #expect(targets.count == 2 && targets.allSatisfy { $0.hasSuffix("@192.0.2.1/") }, "\(targets)")
        #expect(wrong.status == 64)
    }

    @Test func withARouteItSaysOverWhat() async throws {
        let (plain, json) = try await Namespace.run {
            try Namespace.addUplink()
            return (try Self.run("path", "--wait", "30"), try Self.run("path", "--json", "https://192.0.2.1:8443/x"))
        }
        #expect(plain.status == 0 && plain.output.hasPrefix("satisfied IPv4") && plain.output.contains("over v0"), "\(plain)")
        let report = try #require(try Self.reports(json.output).first)
        #expect(report.status == "satisfied" && report.ipv4 && !report.ipv6 && report.reason == nil)
        #expect(report.interfaces.map(\.name) == ["v0"] && report.gateways == ["10.9.0.2"] && report.localAddresses == ["10.9.0.1"])
    }

    @Test func waitReturnsWithTheWayOrWhenTheTimeIsOver() async throws {
        let (none, late) = try await Namespace.run {
            let none = try Self.run("path", "--wait", "0.2")
            let process = try ProgramRun([toolPath, "path", "--wait", "60"])
            try Namespace.addUplink()
            return (none, process.blockUntilResult())
        }
        #expect(none.status == 1 && none.output == "unsatisfied (noRoute)\n")
        #expect(late.status == 0 && late.output.hasPrefix("satisfied"), "\(late)")
    }

    @Test func watchPrintsALineForEachChange() async throws {
        let (seen, result) = try await Namespace.run {
            let process = try ProgramRun([toolPath, "watch"])
            func waitForLine(_ words: String...) -> Bool {
                process.blockUntilOutput { output, _ in
                    output.split(separator: "\n").last.map { line in words.allSatisfy { line.contains($0) } } == true
                }
            }
            var seen = [waitForLine("  unsatisfied (noRoute)")]
            try Namespace.addUplink()
            seen.append(waitForLine("  satisfied IPv4", "over v0 (wired) by 10.9.0.2"))
            try Namespace.ip("link set p0 down")
            seen.append(waitForLine("  unsatisfied (noCarrier)", "over v0"))
            process.send(SIGINT)
            return (seen, process.blockUntilResult())
        }
        #expect(seen == [true, true, true] && result.status == 130 && result.errors == "", "\(result)")
        for line in result.output.split(separator: "\n") {
            let hasTime = line.prefixMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\s\s/) != nil
            #expect(hasTime, "\(line)")
        }
    }

    @Test func watchAsJSONLinesSaysWhatChanged() async throws {
        let (isWatching, result) = try await Namespace.run {
            let process = try ProgramRun([toolPath, "watch", "--json", "-n", "2", "192.0.2.1"])
            let isWatching = process.blockUntilOutput { output, _ in output.contains("\n") }
            try Namespace.addUplink()
            return (isWatching, process.blockUntilResult())
        }
        #expect(isWatching && result.status == 0 && result.errors == "", "\(result)")
        let reports = try Self.reports(result.output)
        #expect(reports.map(\.changed.first) == ["first", "status"])
        // Whether the machine's name server is one that the new route leads to is the machine's business.
        let changed = reports.last?.changed.filter { $0 != "dns" }
        #expect(changed == ["status", "reason", "ipv4", "interfaces", "gateways", "localAddresses"])
    }

    @Test func watchNoticesThatItsReaderHasGone() async throws {
        let result = try await Namespace.run {
            let line = "$T watch | head -n 1; echo ${PIPESTATUS[0]}"
            return try ProgramRun(["bash", "-c", line], environment: ["T": toolPath]).blockUntilResult()
        }
        #expect(result.output.hasSuffix("unsatisfied (noRoute)\n141\n") && result.errors == "", "\(result)")
    }

    @Test func aNamespaceThatIsNotThereIs71() async throws {
        let result = try await tool("path", "--netns", "no-such-namespace")
        #expect(result.status == 71 && result.errors.contains("ip netns"), "\(result)")
    }
}
