import Dispatch
import Foundation
@_spi(Census) import ScopedNet
import ScopedNetFoundation

/// One run of the demo: stage, tour, curtain, census.
@MainActor
struct Performance {
    let options: Options
    private let terminal = Terminal()
    private let board = Board()
    private let recorder = HARRecorder()

    init(_ options: Options) { self.options = options }

    func run() async throws -> Verdict {
        do { try FileManager.default.createDirectory(at: options.folder, withIntermediateDirectories: true) } catch {
            throw DemoFailure("the folder \(options.folder.path) cannot be made")
        }
        let interrupt = onInterrupt()
        defer { interrupt.cancel() }
        return options.urls.isEmpty ? try await ownServer() : try await links()
    }

    // MARK: The two programmes

    private func ownServer() async throws -> Verdict {
        let server = try DemoServer(pace: options.isFast ? .fast : .shown)
        try await server.start()
        let baseline = LiveObjects.snapshot()
        let began = ContinuousClock.now
        let view = LiveView(board, terminal: terminal, baseURL: server.baseURL)
        board.title("ScopedNet", "requests that live and die with their owner · \(server.baseURL)")
        view.start()

        var failure: (any Error)?
        do { try await Tour(session: makeSession(baseURL: server.baseURL), board: board, server: server).run() } catch { failure = error }
        let evidence = try? await Evidence(board.traces, server: server.requests, baseURL: server.baseURL)
        let census = await Census(above: baseline)
        let connections = server.connectionsAccepted
        await server.stop()

        let summary = Summary(
            title: "twelve pages and an embedded server", began: began, traces: recorder.traces, board: board, census: census,
            evidence: evidence, serverConnections: connections, problems: board.failedChecks + (failure.map { ["\($0)"] } ?? []))
        return try finish(summary, view)
    }

    private func links() async throws -> Verdict {
        let folder = FileManager.default.temporaryDirectory.appending(path: "scopednet-demo-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let baseline = LiveObjects.snapshot()
        let began = ContinuousClock.now
        let view = LiveView(board, terminal: terminal, baseURL: "")
        board.title("ScopedNet", "requests that live and die with their owner")
        view.start()
        let problems = await fetch(options.urls, folder)
        let census = await Census(above: baseline)
        let summary = Summary(
            title: Format.count(options.urls.count, "URL"), began: began, traces: recorder.traces, board: board, census: census,
            evidence: nil, serverConnections: nil, problems: problems)
        return try finish(summary, view)
    }

    /// All in one page. It is closed when everything has come, or earlier if asked to.
    private func fetch(_ urls: [String], _ folder: URL) async -> [String] {
        let session = makeSession(baseURL: nil)
        board.opened("URLs", options.cancelAfter.map { "one page; it is closed after \(Format.time($0))" } ?? "one page for all of them")
        var problems: [String] = []
        do {
            let page = LinksPage(session: session, folder: folder)
            page.open(urls)
            let deadline = options.cancelAfter.map { ContinuousClock.now + $0 }
            while page.fetched + page.problems.count < urls.count, deadline.map({ ContinuousClock.now < $0 }) ?? true {
                try? await Task.sleep(for: .milliseconds(10))
            }
            problems = page.problems.map { "\($0.url): \($0.error.code)" }
        }
        board.closed("URLs")
        try? await board.until("the cancelled ones have settled", within: .seconds(5)) { $0.allSatisfy { $0.isComplete } }
        board.summed("URLs")
        await session.agent.waitUntilIdle()
        return problems
    }

    private func makeSession(baseURL: String?) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.baseURL = baseURL
        configuration.cookies = CookieJar()
        configuration.observers = [board, recorder]
        return Session(configuration: configuration)
    }

    // MARK: The end

    private func finish(_ summary: Summary, _ view: LiveView) throws -> Verdict {
        board.formatted(summary.lines(Style(isOn: terminal.isLive), width: terminal.size.columns))
        view.finish()
        let archive = options.folder.appending(path: "scopednet-demo.har")
        let page = options.folder.appending(path: "scopednet-demo.html")
        try recorder.write(to: archive)
        try Data(HTMLReport(summary) { recorder.date(of: $0) }.text.utf8).write(to: page, options: .atomic)
        terminal.write("\n  \(page.path)\n  \(archive.path)\n")
        if !summary.census.isClean { return .leaked }
        return summary.problems.isEmpty ? .good : .failed
    }

    /// Control-C gives the cursor back.
    private func onInterrupt() -> any DispatchSourceSignal {
        signal(SIGINT, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGINT, queue: .global())
        source.setEventHandler { [terminal] in
            if terminal.isLive { terminal.write("\u{1B}[?25h\n") }
            exit(130)
        }
        source.activate()
        return source
    }
}

/// Who is left when everything was let go.
struct Census: Sendable {
    let baseline: LiveObjects.Snapshot
    let after: LiveObjects.Snapshot
    var isClean: Bool { after == baseline }

    /// The network thread of a session that nobody uses is gone a moment later: this waits for it, but not long.
    init(above baseline: LiveObjects.Snapshot) async {
        self.baseline = baseline
        let deadline = ContinuousClock.now + .seconds(3)
        var now = LiveObjects.snapshot()
        while now != baseline, ContinuousClock.now < deadline {
            try? await Task.sleep(for: .milliseconds(5))
            now = LiveObjects.snapshot()
        }
        after = now
    }
}
