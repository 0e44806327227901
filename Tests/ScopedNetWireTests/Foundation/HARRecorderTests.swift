import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetFoundation
import ScopedNetTestServer
import Testing

/// What a recorder writes, read back as any tool would: as JSON, against the required fields of HAR 1.2.
@Suite(.leavesNothing) struct HARRecorderTests {
    private let server = LoopbackServer()
    private let recorder = HARRecorder()
    /// Stands behind the recorder: what it has seen, the recorder has seen.
    private let events = EventRecorder()

    private func makeSession() -> Session {
        var configuration = Session.Configuration(agent: RequestAgent())
        configuration.baseURL = server.url + "/"
        configuration.observers = [recorder, events]
        return Session(configuration: configuration)
    }

    /// The entries of the file, checked for everything the specification asks for.
    private func entries() throws -> [[String: Any]] {
        let root = try #require(try JSONSerialization.jsonObject(with: recorder.document().json()) as? [String: Any])
        let log = try #require(root["log"] as? [String: Any])
        try require(["version": String.self, "creator": [String: Any].self, "entries": [Any].self], in: log)
        #expect(log["version"] as? String == "1.2")
        let pages = try #require(log["pages"] as? [[String: Any]])
        for page in pages {
            try require(
                ["startedDateTime": String.self, "id": String.self, "title": String.self, "pageTimings": [String: Any].self], in: page)
        }
        let entries = try #require(log["entries"] as? [[String: Any]])
        for entry in entries { try check(entry, pages: pages.compactMap { $0["id"] as? String }) }
        return entries
    }

    private func check(_ entry: [String: Any], pages: [String]) throws {
        try require(
            [
                "startedDateTime": String.self, "time": Double.self, "request": [String: Any].self, "response": [String: Any].self,
                "cache": [String: Any].self, "timings": [String: Any].self,
            ], in: entry)
        let request = try #require(entry["request"] as? [String: Any])
        try require(
            [
                "method": String.self, "url": String.self, "httpVersion": String.self, "cookies": [Any].self, "headers": [Any].self,
                "queryString": [Any].self, "headersSize": Int.self, "bodySize": Int.self,
            ], in: request)
        let response = try #require(entry["response"] as? [String: Any])
        try require(
            [
                "status": Int.self, "statusText": String.self, "httpVersion": String.self, "cookies": [Any].self, "headers": [Any].self,
                "content": [String: Any].self, "redirectURL": String.self, "headersSize": Int.self, "bodySize": Int.self,
            ], in: response)
        try require(["size": Int.self, "mimeType": String.self], in: try #require(response["content"] as? [String: Any]))
        let timings = try #require(entry["timings"] as? [String: Double])
        for name in ["send", "wait", "receive"] { #expect(try #require(timings[name]) >= 0) }
        let sum = ["blocked", "dns", "connect", "send", "wait", "receive"].compactMap { timings[$0] }.filter { $0 > 0 }.reduce(0, +)
        #expect(abs(sum - (entry["time"] as? Double ?? -1)) < 0.01, "the time of an entry is the sum of its timings")
        if let page = entry["pageref"] as? String { #expect(pages.contains(page)) }
        let started = try #require(entry["startedDateTime"] as? String)
        #expect(throws: Never.self) { try Date(started, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
    }

    private func require(_ fields: [String: Any.Type], in object: [String: Any]) throws {
        for (name, type) in fields {
            let value = try #require(object[name], "\(name) is required")
            let isRight =
                switch type {
                case is String.Type: value is String
                case is Int.Type: value is Int
                case is Double.Type: value is Double
                case is [String: Any].Type: value is [String: Any]
                default: value is [Any]
                }
            #expect(isRight, "\(name) has another type")
        }
    }

    /// Returns when the one run was cancelled and its transfer has said what it cost.
    private func settled() async {
        await events.wait { if case .cancelled = $0 { true } else { false } }
        await events.wait { if case .attemptFinished = $0 { true } else { false } }
        let isComplete = recorder.traces.allSatisfy { $0.isComplete }
        #expect(isComplete)
    }

    @Test func redirectHopsAndRetriesAreEntriesOfTheirOwn() async throws {
        try await server.start()
        server.on("/old", .redirect(to: "/new"))
        server.enqueue(ScriptedResponse.status(503).header("Retry-After", "0"), for: "/new")
        server.on("/new", .ok("hello"))
        let value = try await makeSession().request("old").options { $0.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero) }.value()
        #expect(String(decoding: value, as: UTF8.self) == "hello")

        let entries = try entries()
        let statuses = entries.map { ($0["response"] as? [String: Any])?["status"] as? Int }
        #expect(statuses == [302, 503, 200])
        #expect((entries[0]["response"] as? [String: Any])?["redirectURL"] as? String == "/new")
        await server.stop()
    }

    @Test func aCancelledRunSaysByWhomAndHowMuchIsMissing() async throws {
        try await server.start()
        server.on("/large", ScriptedResponse.ok(.repeating(1, count: 1 << 20)).stalling(.afterBytes(1 << 10)))
        let session = makeSession()
        await withRequestScope(label: "page") { scope in
            session.request("large").start(in: scope)
            await events.wait { if case .received(let progress) = $0 { progress.completed == 1 << 10 } else { false } }
        }
        await settled()

        let trace = try #require(recorder.traces.first)
        #expect(trace.scope == "page")
        #expect(trace.cancellation?.reason == .ownerReleased)
        #expect(trace.bytesSaved == (1 << 20) - (1 << 10))
        let details = try #require(try entries().first?["_scopednet"] as? [String: Any])
        #expect(details["cancelReason"] as? String == "owner released")
        #expect(details["error"] == nil)
        await server.stop()
    }

    /// A transfer that is cut off has lasted until then, whatever libcurl's clock says.
    @Test func aCancelledRunHasItsWholeTime() async throws {
        try await server.start()
        server.on("/silent", .ok("").stalling(.beforeHead))
        let run = makeSession().request("silent").start()
        try await server.waitForStalls()
        // The time that is measured below; nothing is synchronised by it.
        try await Task.sleep(for: .milliseconds(60))
        run.cancel()
        await settled()

        let exchange = try #require(recorder.traces.first?.exchanges.first)
        #expect(exchange.phases(now: .now).wait >= .milliseconds(50))
        await server.stop()
    }

    @Test func aDetachedRunIsNotCancelled() async throws {
        try await server.start()
        server.on("/memos", ScriptedResponse.ok("").stalling(.beforeHead))
        let session = makeSession()
        try await withRequestScope { scope in
            session.request("memos", method: .post, body: .data(Data(repeating: 7, count: 100))).options { $0.release = .detached }.start(
                in: scope)
            try await server.waitForStalls()
        }
        // The wait that is measured below; nothing is synchronised by it.
        try await Task.sleep(for: .milliseconds(60))
        server.releaseStalls()
        await session.agent.waitUntilIdle()

        let trace = try #require(recorder.traces.first)
        #expect(trace.isDetached && !trace.isCancelled && trace.bytesSaved == nil)
        // The time to the first byte of the response, not of the upload.
        #expect(try #require(trace.exchanges.first).phases(now: .now).wait >= .milliseconds(55))
        _ = try entries()
        await server.stop()
    }

    @Test func failuresBeforeAndWithoutAResponseAreEntriesToo() async throws {
        let session = makeSession()
        await #expect(throws: NetworkError.self) { try await session.send("http://127.0.0.1:1/") }
        await #expect(throws: NetworkError.self) { try await session.send("http://[broken") }
        #expect(recorder.traces.last?.url == "http://[broken")
        let entries = try entries()
        #expect(entries.count == 2)
        for entry in entries {
            #expect((entry["response"] as? [String: Any])?["status"] as? Int == 0)
            #expect((entry["_scopednet"] as? [String: Any])?["error"] is String)
        }
    }

    @Test func secretsAreMasked() async throws {
        try await server.start()
        server.on("/", ScriptedResponse.ok("").header("Set-Cookie", "session=hidden1"))
        let headers: HTTPFields = [.authorization: "Bearer hidden2"]
        _ = try await makeSession().send("?token=hidden3", headers: HeaderFields(headers))
        let text = String(decoding: try recorder.document().json(), as: UTF8.self)
        for number in 1...3 { #expect(!text.contains("hidden\(number)")) }
        _ = try entries()
        await server.stop()
    }

    @Test func aTaskOfABagLendsItsNameToWhatItAwaits() async throws {
        try await server.start()
        server.on("/", .ok(""))
        let session = makeSession()
        let bag = DeallocBag(label: "page")
        await bag.task { _ = try? await session.send("/") }.value
        #expect(recorder.traces.map(\.scope) == ["page"])
        await server.stop()
    }
}
