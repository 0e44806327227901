import ScopedNet
import ScopedNetTestServer
import ScopedNetTesting
import Testing

// The sample of ScopedNetTesting.md, word for word (see `DocumentationTests`), and the value it speaks of.

private struct Report: Decodable, Sendable { let title: String }

// swift-format-ignore
@Test(.noLeaks) func theReportComesWithTheSecondAttempt() async throws {
    let server = LoopbackServer()
    try await server.start()
    server.enqueue(.status(503), for: "/v1/report")
    server.on("/v1/report", .json(#"{"title": "Sea"}"#))
    let session = Session(server.url + "/v1/").with { $0.proxy = .none }
    let report = try await session.get("report", as: Report.self).retry(.standard).value()
    #expect(report.title == "Sea")
    #expect(server.requests.map(\.path) == ["/v1/report", "/v1/report"])
    await server.stop()
}
