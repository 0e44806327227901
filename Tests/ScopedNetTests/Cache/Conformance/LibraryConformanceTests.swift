import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// The whole library against the scenarios of the public suite: sockets, database and all.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(5))) struct LibraryConformanceTests {
    /// Wants a transfer coding accepted that nobody knows. The transport refuses such responses: where they end is a matter of opinion, and two
    /// readers with two opinions are how one response is made to speak inside another (RFC 9112 section 11.2).
    private static let refused = "headers-store-Transfer-Encoding"

    @Test(arguments: LibraryDriver.Medium.allCases)
    func theLibraryScoresWhatItsRulesPromise(_ medium: LibraryDriver.Medium) async throws {
        let server = LoopbackServer()
        try await server.start()
        let folder = FileManager.default.temporaryDirectory.path + "/conformance-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let runner = ScenarioRunner { LibraryDriver($0, medium, server: server, folder: folder) }
        let score = await runner.run(CacheScenario.all)
        await server.stop()
        print("HTTP cache, library, \(medium.rawValue)\n\(score)")
        #expect(score.passed(.required) == 136)
        #expect(score.passed(.optimal) >= 72)
        for kind in CacheScenario.Kind.allCases {
            let surprises = CacheScenario.Coverage.allCases.flatMap { score.surprises(kind, $0) }
            #expect(surprises.filter { !$0.hasPrefix(Self.refused) } == [], "\(kind.rawValue)")
        }
    }
}
