import CleanSlate
import Logging
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// The lines of a `LoggingObserver` about what is valid and probably not meant.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct WarningLogTests {
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

    private func observer(_ trace: Trace, _ level: Logger.Level = .trace) -> LoggingObserver {
        var logger = Logger(label: "test") { _ in Handler(trace: trace) }
        logger.logLevel = level
        return LoggingObserver(logger)
    }

    private func session(_ base: String, _ observers: LoggingObserver...) -> Session {
        var configuration = Session.Configuration(customTransport: MockTransport(), agent: RequestAgent())
        configuration.baseURL = base
        configuration.observers = observers
        return Session(configuration: configuration)
    }

    /// A census of its own takes the finding, as the test's would call it a fault.
    private func forget(_ url: String, of session: Session) {
        LeakCensus().listen { _ = session.request(url).onSuccess { _ in } }
    }

    @Test func aRequestThatIsNeverStartedIsALineAtDebug() async {
        let trace = Trace()
        forget("forgotten?token=hush", of: session("http://h/", observer(trace)))
        await trace.wait(for: 1)
        let lines = trace.lines
        #expect(lines.count == 1)
        let sentence =
            "the request for 'forgotten?token=***' was dropped without a start although closures were registered at onSuccess at "
        #expect(lines.first?.hasPrefix("debug probably not meant warning=\(sentence)") == true)
        #expect(lines.first?.contains("/WarningLogTests.swift:") == true && lines.first?.hasSuffix(": call start()") == true)
    }

    @Test func aBaseWithoutItsSlashIsALineAtWarning() {
        let trace = Trace()
        _ = session("http://h/v1", observer(trace))
        #expect(trace.lines == ["warning probably not meant warning=\(SessionWarning.ofBase("http://h/v1").map { "\($0)" } ?? "none")"])
    }

    /// A program whose log begins at `info` hears of the base alone.
    @Test func aLogWithoutDebugHasTheBaseAlone() async {
        let (short, long) = (Trace(), Trace())
        // Told one after the other.
        forget("forgotten", of: session("http://h/v1", observer(short, .info), observer(long)))
        await long.wait(for: 2)
        #expect(long.lines.map { $0.prefix(8) } == ["warning ", "debug pr"])
        #expect(short.lines.map { $0.prefix(8) } == ["warning "])
    }
}
