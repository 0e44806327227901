#if Metrics
import CleanSlate
import Foundation
import MetricsTestKit
import Persistence
import ScopedNet
import ScopedNetMetrics
import ScopedNetTestServer
import ScopedNetTesting
import Testing

/// Counters and timers of runs and exchanges: ``MetricsInterceptor``.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct MetricsTests {
    private func text(_ dimensions: [(String, String)]) -> String { dimensions.map { "\($0)=\($1)" }.joined(separator: " ") }

    @Test func theyFollowTheConventions() async throws {
        let metrics = TestMetrics()
        let server = LoopbackServer()
        try await server.start()
        server.on("/a", .ok("there"))
        server.on("/b", .status(404))
        let session = Session(server.url + "/").with {
            $0.proxy = .none
            $0.options.interceptors.addMetrics(factory: metrics)
        }
        _ = try await session.get("a").value()
        _ = try await session.post("a", body: .data(Data("abc".utf8))).value()
        _ = try? await session.get("b").value()
        let place = "server.address=127.0.0.1 server.port=\(server.port) url.scheme=http"
        // Each metric has the same names every time.
        for label in ["http.client.request.duration", "scopednet.client.run.duration"] {
            #expect(Set(metrics.timers(label: label).map { $0.dimensions.map(\.0) }).count == 1)
        }
        let (ok, lost) = (
            "http.response.status_code=200 network.protocol.version=1.1 error.type=",
            "http.response.status_code=404 network.protocol.version=1.1 error.type=404"
        )
        #expect(
            Set(metrics.timers(label: "http.client.request.duration").map { text($0.dimensions) }) == [
                "http.request.method=GET \(place) \(ok)", "http.request.method=POST \(place) \(ok)",
                "http.request.method=GET \(place) \(lost)",
            ])
        for timer in metrics.timers(label: "http.client.request.duration") { #expect(timer.values.count == 1 && timer.values[0] > 0) }
        #expect(metrics.recorders(label: "http.client.request.body.size").flatMap(\.values).sorted() == [0, 0, 3])
        #expect(metrics.recorders(label: "http.client.response.body.size").flatMap(\.values).sorted() == [0, 5, 5])
        #expect(
            Set(metrics.counters(label: "scopednet.client.runs").map { text($0.dimensions) }) == [
                "http.request.method=GET \(place) \(ok) scopednet.source=network",
                "http.request.method=POST \(place) \(ok) scopednet.source=network",
                "http.request.method=GET \(place) \(lost) scopednet.source=network",
            ])
        #expect(metrics.counters(label: "scopednet.client.runs").map(\.totalValue) == [1, 1, 1])
        #expect(metrics.timers(label: "scopednet.client.run.duration").count == 3)
        await session.shutdown()
        await server.stop()
    }

    @Test func whatIsUnderWayIsCountedUpAndDown() async throws {
        let metrics = TestMetrics()
        let mock = MockTransport.session("http://metrics.test/", unanswered: .wait)
        let session = mock.with { $0.options.interceptors.addMetrics(factory: metrics) }
        let bag = DeallocBag()
        for number in 0..<3 { session.get("\(number)").start(in: bag) }
        await session.mock.waitForExchanges(3)
        let meter = try #require(metrics.meters(label: "http.client.active_requests").first)
        #expect(meter.lastValue == 3)
        session.mock.exchanges[0].respond(.ok())
        session.mock.exchanges[1].fail(.connectionLost)
        bag.end()
        await session.agent.waitUntilIdle()
        // The interceptors of a cancelled run end by themselves, on threads of their own.
        await eventually {
            meter.lastValue == 0 && metrics.counters(label: "scopednet.client.runs").map(\.totalValue).reduce(0, +) == 3
        }
        #expect(meter.values.max() == 3)
        let errors = metrics.counters(label: "scopednet.client.runs").flatMap(\.dimensions).filter { $0.0 == "error.type" }.map(\.1)
        #expect(errors.contains("cancelled"))
    }

    @Test func theCacheIsASource() async throws {
        let metrics = TestMetrics()
        let folder = TemporaryFolder()
        let server = LoopbackServer()
        try await server.start()
        server.on("/", .ok("x").header("Cache-Control", "max-age=60"))
        let session = Session(server.url + "/").with {
            $0.proxy = .none
            $0.cache = ResponseCache(StoreConfiguration(directory: folder.path))
            $0.options.interceptors.addMetrics(factory: metrics)
        }
        for _ in 0..<3 { _ = try await session.get("/").value() }
        let counts = metrics.counters(label: "scopednet.client.runs").map { ($0.dimensions.last?.1 ?? "", $0.totalValue) }
        #expect(counts.contains { $0 == ("network", 1) } && counts.contains { $0 == ("cache", 2) })
        #expect(metrics.timers(label: "http.client.request.duration").flatMap(\.values).count == 1)
        await session.shutdown()
        await server.stop()
    }
}
#endif
