import CleanSlate
import Foundation
import HTTPTypes
import Logging
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// swift-log: one line a run, secrets redacted, silent without a logger.
@Suite(.leavesNothing) struct LoggingTests {
    private struct Handler: LogHandler {
        let trace: Trace
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            trace.add("\(event.level) \(event.message) \(fields.joined(separator: " "))")
        }
    }

    @Test func linesSayWhatHappenedAndKeepSecrets() async throws {
        let trace = Trace()
        let logger = Logger(label: "test") { _ in Handler(trace: trace) }
        try await withHouse(.init(), { $0.observers = [LoggingObserver(logger)] }) { house in
            house.server.on("/a", .ok("x"))
            house.server.on("/b", .status(404))
            var headers = HTTPFields()
            headers[.authorization] = "Bearer hunter2"
            _ = try await house.session.send(house.url("/a?token=hunter2"), headers: HeaderFields(headers))
            _ = try? await house.session.send(house.url("/b"))
            await house.agent.waitUntilIdle()
        }
        #expect(trace.lines.contains { $0.hasPrefix("debug request succeeded") && $0.contains("status=200") && $0.contains("bytes=1") })
        #expect(trace.lines.contains { $0.hasPrefix("notice request failed") && $0.contains("status=404") })
        #expect(!trace.lines.contains { $0.contains("hunter2") })
    }
}
