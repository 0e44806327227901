import CleanSlate
import Foundation
import Reachability
import Testing

/// The samples of the DocC article and of docs/reachability.md, word for word: what does not compile here must not be shown to anyone.
private struct Samples: Sendable {
    func watch() async throws {
        let monitor = ReachabilityMonitor()
        try monitor.start()
        for await path in monitor.paths {
            print(path)  // satisfied IPv4 DNS over eth0 (wired) by 192.0.2.1
        }
    }

    func watchAService() throws -> ReachabilityMonitor.Subscription? {
        guard let target = NetworkPath.Target("https://api.example.org/v1") else { return nil }
        let monitor = ReachabilityMonitor(target: target)
        let subscription = monitor.observe { path, delta in
            if delta.breaksConnections { print("connections made before are probably dead") }
            if case .unsatisfied(let reason) = path.status { print("cannot get there: \(reason)") }
        }
        try monitor.start()
        return subscription
    }

    func several() throws {
        let monitor = ReachabilityMonitor()
        let database = monitor.monitor(for: .address(IPAddress(10, 0, 0, 7), port: 5432))
        let tunnel = monitor.monitor(for: NetworkPath.Target(.defaultPath, mark: 0xca6c))
        try database.start()
        try tunnel.start()
        print(database.currentPath?.isSatisfied == true, tunnel.currentPath?.isSatisfied == true)
    }

    func retry(_ attempt: () async throws -> Void) async throws {
        let monitor = ReachabilityMonitor()
        try monitor.start()
        do {
            try await attempt()
        } catch {
            try await monitor.waitUntilSatisfied(timeout: .seconds(60))
            try await attempt()
        }
    }

    func another() throws {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.namespace = .path("/run/netns/blue")
        configuration.gainDelay = .milliseconds(500)
        configuration.excludedKinds = [.cellular]
        let monitor = ReachabilityMonitor(configuration: configuration)
        try monitor.start()
    }

    func probing(_ get: @escaping @Sendable (String) async throws -> ReachabilityProbe.Response) -> ReachabilityMonitor {
        var configuration = ReachabilityMonitor.Configuration()
        configuration.probe = ReachabilityProbe(url: "http://check.example.org/generate_204", get: get)
        return ReachabilityMonitor(configuration: configuration)
    }
}

/// RCH-7
@Suite(.leavesNothing) struct ReachabilityDocumentationTests {
    private static let root = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func lines(of file: String) throws -> [String] {
        try String(contentsOf: root.appending(path: file), encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test(arguments: ["Sources/Reachability/Reachability.docc/Reachability.md", "docs/reachability.md"])
    func samplesStandHereWordForWord(_ article: String) throws {
        let here = try Self.lines(of: "Tests/ReachabilityTests/ReachabilityDocumentationTests.swift").joined(separator: "\n")
        for sample in try Self.lines(of: article).joined(separator: "\n").components(separatedBy: "```swift\n").dropFirst() {
            let code = sample.components(separatedBy: "\n```")[0]
            #expect(here.contains("\n" + code + "\n"), "\(article) shows what is not compiled: \(code.prefix(80))")
        }
    }

    @Test func theFirstSampleRuns() async throws {
        let task = Task { try await Samples().watch() }
        let subscription = try Samples().watchAService()
        try Samples().several()
        subscription?.cancel()
        task.cancel()
        try await task.value
        try await Samples().retry {}
        _ = Samples().probing { _ in .init(status: 204) }
    }

    @Test func nothingButGlibcAndTheKernelsHeadersIsImported() throws {
        let sources = Self.root.appending(path: "Sources/Reachability")
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)?.allObjects as? [URL] ?? []
        var imports: Set<Substring> = []
        for file in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for line in text.split(separator: "\n") where line.hasPrefix("import ") { imports.insert(line) }
        }
        #expect(imports == ["import CNetlink", "import Glibc", "import SystemSupport"])
    }
}
