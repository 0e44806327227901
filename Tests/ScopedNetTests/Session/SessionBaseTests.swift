import CleanSlate
import Foundation
import ScopedNetTesting
import Synchronization
import Testing

@testable import ScopedNet

/// Sessions made of a base URL, and what is said of one without a slash.
@Suite(.leavesNothing) struct SessionBaseTests {
    private final class Recorder: RequestObserver {
        private let state = Mutex<[SessionWarning]>([])
        var warnings: [String] { state.withLock { $0.map(\.description) } }
        func observe(_ event: RequestEvent) {}
        func observe(_ warning: SessionWarning) { state.withLock { $0.append(warning) } }
    }

    private func session(_ base: String, _ recorder: Recorder) -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.baseURL = base
        configuration.observers = [recorder]
        return Session(configuration: configuration)
    }

    @Test func oneLineMakesASession() throws {
        let url = try #require(URL(string: "http://h/v1/"))
        let json = JSONCoding(keys: .snakeCase)
        for session in [Session("http://h/v1/"), Session(baseURL: "http://h/v1/", json: json), Session(baseURL: url, json: json)] {
            let request = try session.request("items").httpRequest()
            #expect(request.authority == "h" && request.path == "/v1/items")
        }
        #expect(Session("http://h/").configuration.json.isStandard && !Session("http://h/", json: json).configuration.json.isStandard)
    }

    @Test func aBaseWithoutItsSlashIsSaidOnce() {
        let recorder = Recorder()
        let session = session("http://user:secret@h/api/v1?key=secret", recorder)
        let warning = "the base URL http://h/api/v1 does not end with a slash, so 'v1' is left out of relative URLs"
        #expect(recorder.warnings == [warning])
        _ = session.with { $0.errorBodyBytes = 1 }
        _ = session.request("a")
        #expect(recorder.warnings == [warning])
        _ = session.with { $0.baseURL = "http://h/v2" }
        #expect(recorder.warnings.count == 2 && recorder.warnings.last?.contains("'v2'") == true)
    }

    /// The form of most programs: a session of one line, and an observer added to it.
    @Test func observersThatComeLaterAreToldOfTheSlash() {
        let recorder = Recorder()
        let session = Session("http://h/v1").with { $0.observers.append(recorder) }
        #expect(recorder.warnings.count == 1 && recorder.warnings.last?.contains("'v1'") == true)
        _ = session.with { $0.errorBodyBytes = 1 }
        #expect(recorder.warnings.count == 1)
    }

    @Test(.timeLimit(.minutes(5))) func aRequestThatIsNeverStartedIsSaid() async throws {
        let recorder = Recorder()
        let session = session("http://h/", recorder)
        // Started, or without closures: nothing to say.
        _ = session.request("plain")
        let ended = DeallocBag()
        ended.end()
        session.request("cancelled").onSuccess { _ in }.start(in: ended)
        // A census of its own, as the test's would call it a fault.
        let census = LeakCensus()
        census.listen { _ = session.request("forgotten?token=hush").onSuccess { _ in } }
        while recorder.warnings.isEmpty { await Task.yield() }
        await session.agent.waitUntilIdle()
        #expect(recorder.warnings.count == 1)
        let warning = try #require(recorder.warnings.first)
        #expect(warning.hasPrefix("the request for 'forgotten?token=***' was dropped without a start although closures were registered"))
        #expect(warning.contains("SessionBaseTests.swift:"))
        await session.shutdown()
    }

    @Test(arguments: ["http://h", "http://h/", "http://h/v1/", "http://h/v1/?a=b/c", "http://h?x", "no url", ""])
    func nothingIsSaidOfOthers(_ base: String) {
        let recorder = Recorder()
        _ = session(base, recorder)
        #expect(recorder.warnings.isEmpty)
    }
}
