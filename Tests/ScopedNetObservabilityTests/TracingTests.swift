#if Tracing
import CleanSlate
import Foundation
import HTTPTypes
import InMemoryTracing
import Persistence
import ScopedNet
import ScopedNetTestServer
import ScopedNetTesting
import Testing
import Tracing

@testable import ScopedNetTracing

/// Spans of runs and exchanges: ``TracingInterceptor``.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct TracingTests {
    /// A span, as a backend gets it.
    private struct Line: Equatable, CustomStringConvertible {
        var name: String
        var kind: SpanKind
        var parent: String?
        var attributes: [String: String] = [:]
        var isError = false
        var description: String { "\(name) \(kind) of \(parent ?? "nothing") \(attributes) \(isError ? "error" : "")" }

        init(_ span: FinishedInMemorySpan, among all: [FinishedInMemorySpan]) {
            name = span.operationName
            kind = span.kind
            parent = span.parentSpanID.map { id in all.first { $0.spanID == id }?.operationName ?? id }
            isError = span.status?.code == .error
            span.attributes.forEach { key, value in
                attributes[key] =
                    switch value {
                    case .string(let text): text
                    case .int64(let number): "\(number)"
                    default: "\(value)"
                    }
            }
        }
    }

    private func spans(_ tracer: InMemoryTracer) -> [Line] {
        let all = tracer.finishedSpans
        return all.map { Line($0, among: all) }
    }

    private func session(_ tracer: InMemoryTracer, _ base: String, _ change: (inout Session.Configuration) -> Void = { _ in }) -> Session {
        Session(base).with {
            $0.proxy = .none
            $0.options.interceptors.addTracing(tracer: tracer)
            change(&$0)
        }
    }

    @Test func oneForTheRunAndOneForEachExchange() async throws {
        let server = LoopbackServer()
        try await server.start()
        server.enqueue(.status(503), for: "/a")
        server.enqueue(.redirect(to: "/b?token=hunter2"), for: "/a")
        server.on("/b", .ok("there"))
        let tracer = InMemoryTracer()
        let session = session(tracer, server.url + "/") { $0.options.retry = RetryPolicy(maxAttempts: 3, backoffBase: .milliseconds(1)) }
        let value = try await tracer.withSpan("page") { _ in try await session.get("a", as: String.self).value() }
        #expect(value == "there")
        let spans = spans(tracer)
        #expect(spans.map(\.name) == ["GET", "GET", "GET", "HTTP GET", "page"])
        #expect(spans.map(\.kind) == [.client, .client, .client, .internal, .internal])
        #expect(spans.map(\.parent) == ["HTTP GET", "HTTP GET", "HTTP GET", "page", nil])
        #expect(spans.map(\.isError) == [true, false, false, false, false])
        #expect(spans.map { $0.attributes["http.request.resend_count"] } == [nil, "1", "2", nil, nil])
        #expect(spans.map { $0.attributes["http.response.status_code"] } == ["503", "302", "200", "200", nil])
        #expect(spans[0].attributes["error.type"] == "503")
        #expect(spans[2].attributes["url.full"] == server.url + "/b?token=***")
        let expected = [
            "http.request.method": "GET", "server.address": "127.0.0.1", "server.port": "\(server.port)", "network.protocol.name": "http",
            "network.protocol.version": "1.1", "network.peer.address": "127.0.0.1", "network.peer.port": "\(server.port)",
            "http.response.body.size": "5", "url.scheme": "http", "scopednet.source": "network",
        ]
        for (key, value) in expected { #expect(spans[2].attributes[key] == value, "\(key)") }
        // The fields that the server gets name the span of its exchange.
        #expect(server.requests.map { $0.headers[InMemoryTracer.spanIDKey] } == tracer.finishedSpans.prefix(3).map(\.spanID))
        #expect(Set(server.requests.map { $0.headers[InMemoryTracer.traceIDKey] }).count == 1)
        await session.shutdown()
        await server.stop()
    }

    @Test func anErrorAndACancel() async throws {
        let tracer = InMemoryTracer()
        let mock = MockTransport.session("http://trace.test/", unanswered: .wait)
        mock.mock.on("down", .failing(.connectionRefused))
        let session = mock.with { $0.options.interceptors.addTracing(tracer: tracer) }
        _ = try? await session.get("down").value()
        let bag = DeallocBag()
        session.get("slow").start(in: bag)
        await session.mock.waitForExchanges(2)
        bag.end()
        await session.agent.waitUntilIdle()
        // The interceptors of a cancelled run end by themselves, on threads of their own.
        await eventually { tracer.finishedSpans.count >= 4 }
        let spans = spans(tracer)
        #expect(spans.map { $0.attributes["error.type"] } == ["connectionRefused", "connectionRefused", "cancelled", "cancelled"])
        #expect(spans.map(\.isError) == [true, true, false, false])
        #expect(spans.last?.attributes["scopednet.cancelled"] == "owner released")
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func anAnswerOfTheCacheHasNoExchange() async throws {
        let tracer = InMemoryTracer()
        let folder = TemporaryFolder()
        let server = LoopbackServer()
        try await server.start()
        server.on("/", .ok("x").header("Cache-Control", "max-age=60"))
        let session = session(tracer, server.url + "/") { $0.cache = ResponseCache(StoreConfiguration(directory: folder.path)) }
        for _ in 0..<2 { _ = try await session.get("/").value() }
        #expect(spans(tracer).map { $0.attributes["scopednet.source"] } == ["network", "network", "cache"])
        await session.shutdown()
        await server.stop()
    }

    /// Only what is a field goes into the request.
    @Test func whatIsNoFieldIsLeftOut() {
        var fields = HeaderFields()
        FieldInjector().inject("00-1-2-01", forKey: "traceparent", into: &fields)
        FieldInjector().inject("x", forKey: "not a name", into: &fields)
        #expect(fields.fields.map(\.name.rawName) == ["traceparent"])
    }

    @Test func madeUpMethodsAreNoLabels() async throws {
        let tracer = InMemoryTracer()
        let mock = MockTransport.session("http://trace.test/")
        mock.mock.on("a", .ok())
        let session = mock.with { $0.options.interceptors.addTracing(tracer: tracer) }
        _ = try await session.request("a", method: try #require(.init("BREW"))).value()
        let spans = spans(tracer)
        #expect(spans.map { $0.attributes["http.request.method"] } == ["_OTHER", "_OTHER"])
        #expect(spans.map(\.name) == ["HTTP", "HTTP _OTHER"])
        #expect(spans.map { $0.attributes["http.request.method_original"] } == ["BREW", "BREW"])
    }
}
#endif
