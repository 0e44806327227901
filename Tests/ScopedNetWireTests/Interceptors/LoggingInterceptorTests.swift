import CleanSlate
import Foundation
import HTTPTypes
import Logging
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Exchanges as `curl` commands, without bodies and secrets: ``LoggingInterceptor``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct LoggingInterceptorTests {
    private struct Handler: LogHandler {
        let trace: Trace
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).filter { !["seconds", "metrics", "request"].contains($0.key) }
            trace.add(
                "\(event.level) \(event.message) "
                    + fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "))
        }
    }

    private func logger(_ trace: Trace, _ level: Logger.Level = .debug) -> Logger {
        var logger = Logger(label: "test") { _ in Handler(trace: trace) }
        logger.logLevel = level
        return logger
    }

    @Test func eachExchangeIsACommandAndItsResponse() async throws {
        let trace = Trace()
        try await withWire {
            $0.options.interceptors.exchange = [LoggingInterceptor(logger(trace))]
            $0.headers["Authorization"] = "Bearer hunter2"
        } _: { wire async throws in
            wire.server.enqueue(.redirect(to: "/b?token=hunter2", status: 307))
            wire.server.on("/b", ScriptedResponse.json("{}").header("Set-Cookie", "a=hunter2"))
            _ = try await wire.session.post(wire.url + "/a", json: ["password": "hunter2"]).value()
            let url = wire.url
            #expect(trace.lines.count == 4)
            #expect(trace.lines[0].hasPrefix("debug request attempt=1 curl=curl --url \(url)/a --header "))
            #expect(
                trace.lines[0].contains("--header 'Authorization: Bearer ***'") && trace.lines[0].contains("Content-Type: application/json")
            )
            #expect(trace.lines[0].hasSuffix("--data-binary @body.bin # body.bin: the body, 22 B of application/json, not shown"))
            #expect(trace.lines[1] == "debug response attempt=1 body=empty source=network status=307")
            #expect(trace.lines[2].contains("--url '\(url)/b?token=***'") && trace.lines[2].hasSuffix("redirects=1"))
            #expect(trace.lines[3] == "debug response attempt=1 body=2 B of application/json redirects=1 source=network status=200")
            #expect(!trace.lines.contains { $0.contains("hunter2") })
        }
    }

    @Test func errorsAndCancelsHaveTheirLevels() async throws {
        let trace = Trace()
        try await withWire {
            $0.options.interceptors.call = [LoggingInterceptor(logger(trace), level: .info)]
        } _: { wire async throws in
            wire.server.on("/", ScriptedResponse.ok("x").stalling(.beforeHead))
            wire.server.on("/cut", .malformed(.silence))
            _ = try? await wire.get("/cut").value()
            let bag = DeallocBag()
            wire.get("/").tag("page").start(in: bag)
            try await wire.server.waitForRequests(2)
            bag.end()
            await wire.agent.waitUntilIdle()
            // The interceptors of a cancelled run end by themselves, on threads of their own.
            await eventually { trace.lines.count >= 4 }
            #expect(trace.lines[0].hasPrefix("info request curl=curl --url") && trace.lines[1].hasPrefix("notice request failed error="))
            #expect(trace.lines[2].hasSuffix("tag=page") && trace.lines[3].hasPrefix("debug request cancelled error="))
            wire.server.releaseStalls()
        }
    }

    @Test func aQuietLoggerIsNotTold() async throws {
        let trace = Trace()
        try await withWire {
            $0.options.interceptors.exchange = [LoggingInterceptor(logger(trace, .warning))]
        } _: { wire async throws in
            wire.server.on("/", .ok("x"))
            _ = try await wire.get().value()
            #expect(trace.lines.isEmpty)
        }
    }

    /// From the call to its exchanges, and from one exchange to the next.
    @Test func valuesGoFromOneInterceptorToTheNext() async throws {
        struct Count: Sendable { var value = 0 }
        try await withWire {
            $0.options.interceptors.call = [
                Intercepting { request, context, next in
                    #expect(context.values[Count.self] == nil)
                    context.values[Count.self] = Count(value: 7)
                    return try await next(request)
                }
            ]
            $0.options.interceptors.exchange = [
                Intercepting { request, context, next in
                    context.values[Count.self]?.value += 1
                    var request = request
                    request.headers["X-Count"] = "\(context.values[Count.self]?.value ?? -1)"
                    return try await next(request)
                }
            ]
        } _: { wire async throws in
            wire.server.enqueue(.redirect(to: "/b"))
            wire.server.on("/b", .ok("x"))
            for _ in 0..<2 { _ = try? await wire.get().value() }
            #expect(wire.server.requests.prefix(2).map { $0.headers["X-Count"] } == ["8", "9"])
            #expect(wire.server.requests.dropFirst(2).first?.headers["X-Count"] == "8")
        }
    }
}
