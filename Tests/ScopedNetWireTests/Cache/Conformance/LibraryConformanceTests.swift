import CleanSlate
import Foundation
import Glibc
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The whole library against the scenarios of the public suite: sockets, database and all.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(10))) struct LibraryConformanceTests {
    /// Wants a transfer coding accepted that nobody knows. The transport refuses such responses: where they end is a matter of opinion, and two
    /// readers with two opinions are how one response is made to speak inside another (RFC 9112 section 11.2).
    private static let refused = "headers-store-Transfer-Encoding"

    private static let isSoak = getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1"

    /// In memory, on its way to the disk, on disk and with a new process for each request: the score is what the rules promise, and each scenario ends the same.
    ///
    /// Eight hundred processes take their time: a twentieth of the scenarios has them in each run of the tests, all with `Scripts/test --soak`.
    @Test func theLibraryScoresWhatItsRulesPromiseWhereverItsResponsesAre() async throws {
        let all = CacheScenario.all
        let inMemory = try await run(.memory, all)
        expectPromises(of: ConformanceScore(scenarios: all, deviations: inMemory))
        let whileWriting = try await run(.writing, all)
        let onDisk = try await run(.disk, all)
        let some = Self.isSoak ? all : all.indices.filter { $0 % 20 == 0 }.map { all[$0] }
        let inProcesses = try await run(.process, some)
        #expect(Self.differences(inMemory, whileWriting, all) == [])
        #expect(Self.differences(inMemory, onDisk, all) == [])
        #expect(Self.differences(inMemory, inProcesses, some) == [])
    }

    private func expectPromises(of score: ConformanceScore) {
        print("HTTP cache, library\n\(score)")
        #expect(score.passed(.required) == 136)
        #expect(score.passed(.optimal) >= 72)
        for kind in CacheScenario.Kind.allCases {
            let surprises = CacheScenario.Coverage.allCases.flatMap { score.surprises(kind, $0) }
            #expect(surprises.filter { !$0.hasPrefix(Self.refused) } == [], "\(kind.rawValue)")
        }
    }

    /// Scenarios that came out otherwise, and how. What is refused is told in another process's words.
    private static func differences(_ one: [String: [String]], _ other: [String: [String]], _ scenarios: [CacheScenario]) -> [String] {
        scenarios.map(\.id).filter { id in id == refused ? other[id]?.isEmpty != false : one[id] != other[id] }
            .map { "\($0): \(one[$0] ?? []), then \(other[$0] ?? [])" }
    }

    private func run(_ medium: LibraryDriver.Medium, _ scenarios: [CacheScenario]) async throws -> [String: [String]] {
        let server = LoopbackServer()
        try await server.start()
        let folder = FileManager.default.temporaryDirectory.path + "/conformance-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let runner = ScenarioRunner { LibraryDriver($0, medium, server: server, folder: folder) }
        let start = ContinuousClock.now
        // Starting a process is mostly waiting.
        let deviations = await runner.deviations(of: scenarios, atOnce: medium == .process ? 4 : 1)
        await server.stop()
        let passed = deviations.values.count(where: \.isEmpty)
        print("HTTP cache, \(medium.rawValue): \(passed) of \(scenarios.count) as they should be, in \(ContinuousClock.now - start)")
        return deviations
    }
}
