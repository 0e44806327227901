import CleanSlate
import ScopedNetTesting
import Testing

@testable import ScopedNet

/// `traceparent` (W3C Trace Context section 3.2): ``TraceContext`` and ``TraceContextInterceptor``.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct TraceContextTests {
    private static let known = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func aFieldIsReadAndWritten() throws {
        let trace = try #require(TraceContext(Self.known))
        #expect(trace.traceID == "4bf92f3577b34da6a3ce929d0e0e4736" && trace.spanID == "00f067aa0ba902b7" && trace.isSampled)
        #expect(trace.description == Self.known)
        let next = trace.child()
        #expect(next.traceID == trace.traceID && next.spanID != trace.spanID && next.isSampled)
        #expect(TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")?.isSampled == false)
    }

    @Test func newOnesAreValidAndDiffer() throws {
        var seen: Set<String> = []
        for _ in 0..<1_000 {
            let trace = TraceContext(isSampled: false)
            #expect(TraceContext(trace.description) == trace)
            seen.insert(trace.traceID)
        }
        #expect(seen.count == 1_000)
    }

    /// Later versions may have more behind a hyphen; of flags only the first bit is known.
    @Test(arguments: [
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01what", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what", false),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01", false),
        ("0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false), ("", false), ("00", false), ("--", false),
    ])
    func othersAreTakenOrNot(text: String, isTaken: Bool) { #expect((TraceContext(text) != nil) == isTaken) }

    private func fields(_ session: Session) -> [String?] {
        session.mock.exchanges.map { $0.headers[.init("traceparent")!] }
    }

    @Test func allExchangesOfARunAreOfOneTrace() async throws {
        let mock = MockTransport.session("http://trace.test/")
        mock.mock.on("a", [.status(503), .redirect(to: "/b")])
        mock.mock.on("b", .ok())
        let session = mock.with {
            $0.options.interceptors.exchange.append(TraceContextInterceptor())
            $0.options.retry = RetryPolicy(maxAttempts: 2, backoffBase: .zero)
        }
        _ = try await session.get("a").value()
        let traces = try fields(session).map { try #require(TraceContext($0 ?? "")) }
        #expect(traces.count == 3 && Set(traces.map(\.traceID)).count == 1 && Set(traces.map(\.spanID)).count == 3)
        _ = try await session.get("b").value()
        #expect(try #require(TraceContext(fields(session)[3] ?? "")).traceID != traces[0].traceID)
    }

    @Test func aRequestsOwnTraceGoesOn() async throws {
        let mock = MockTransport.session("http://trace.test/")
        mock.mock.on("a", .ok())
        let session = mock.with { $0.options.interceptors.exchange.append(TraceContextInterceptor()) }
        _ = try await session.get("a", headers: ["traceparent": .init(Self.known), "tracestate": "x=1"]).value()
        let trace = try #require(TraceContext(fields(session)[0] ?? ""))
        #expect(trace.traceID == "4bf92f3577b34da6a3ce929d0e0e4736" && trace.spanID != "00f067aa0ba902b7")
        #expect(session.mock.exchanges[0].headers[.init("tracestate")!] == "x=1")
        // A malformed one begins anew, and takes its state along.
        _ = try await session.get("a", headers: ["traceparent": "nonsense", "tracestate": "x=1"]).value()
        #expect(TraceContext(fields(session)[1] ?? "") != nil && session.mock.exchanges[1].headers[.init("tracestate")!] == nil)
    }
}
