import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
@_spi(Transport) import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Connections that are made ahead of their requests, as the server sees them.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct PreconnectTests {
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    @Test func aPlainConnectionIsMadeAndUsed() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok("here"))
            try await wire.session.preconnect(to: wire.url + "/any?thing")
            try await wire.server.waitForOpenConnections { $0 == 1 }
            #expect(wire.server.requests.isEmpty && wire.server.bytesSent == 0)
            // Another one is idle already.
            try await wire.session.preconnect(to: wire.url)
            for _ in 0..<3 {
                let response = try await wire.send("/x")
                #expect(response.body == Data("here".utf8) && response.metrics.isConnectionReused)
            }
            _ = try await wire.send("/y", method: "POST", body: .data(Data(count: 100_000)))
            #expect(wire.server.connectionsAccepted == 1 && wire.server.requests.count == 4)
        }
    }

    @Test(arguments: [[HTTPProtocol.http1], [.http2, .http1]])
    func aSecureConnectionIsMadeAndUsed(_ protocols: [HTTPProtocol]) async throws {
        try await withWire(.tls(authority, protocols)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/*", .ok("secret"))
            try await wire.session.preconnect(to: wire.url)
            try await wire.server.waitForOpenConnections { $0 == 1 }
            #expect(wire.server.requests.isEmpty)
            for _ in 0..<3 { #expect(try await wire.send("/x").body == Data("secret".utf8)) }
            let request = try await wire.server.takeRequest()
            #expect(wire.server.connectionsAccepted == 1 && request.connectionID == 1)
            #expect(request.httpVersion == (protocols.count == 2 ? "2" : "1.1"))
        }
    }

    @Test func manyAtOnceMakeOneConnectionEachAtMost() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            let (session, url) = (wire.session, wire.url)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 { group.addTask { try await session.preconnect(to: url) } }
                try await group.waitForAll()
            }
            #expect(wire.server.connectionsAccepted <= 3)
            // Requests that all wait for their answer have a connection each: those that stand, and as many as are missing.
            wire.server.on("/*", .ok().stalling(.beforeHead))
            async let values = session.values(of: (0..<6).map { session.request(url + "/\($0)") })
            try await wire.server.waitForStalls(6)
            wire.server.releaseStalls()
            _ = try await values
            #expect(wire.server.connectionsAccepted == 6 && Set(wire.server.requests.map(\.connectionID)) == Set(1...6))
        }
    }

    /// A server closes what nothing is sent on: the request has another connection, and does not fail.
    @Test func aConnectionThatTheServerHasClosedIsReplaced() async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok("here"))
            try await wire.session.preconnect(to: wire.url)
            try await wire.server.waitForOpenConnections { $0 == 1 }
            wire.session.transport.networkChanged()
            try await wire.server.waitForOpenConnections { $0 == 0 }
            #expect(try await wire.send("/x").body == Data("here".utf8))
            #expect(wire.server.connectionsAccepted == 2)
        }
    }

    @Test func errorsAreThoseOfAConnection() async throws {
        try await withWire(.tls(authority)) { wire async throws in
            func failure(_ session: Session, _ url: String) async throws -> NetworkError {
                do throws(NetworkError) { try await session.preconnect(to: url) } catch { return error }
                throw UnexpectedSuccess()
            }
            let untrusted = try await failure(wire.session, wire.url)
            #expect(untrusted.code == .certificateUntrusted && !untrusted.mayHaveReachedServer)
            let refused = try await failure(wire.session, "http://ann:secret@127.0.0.1:1/")
            #expect(refused.code == .connectionRefused && refused.url == "http://***@127.0.0.1:1/" && refused.method == nil)
            #expect("\(refused)".hasPrefix("http://***@127.0.0.1:1/: connectionRefused while connecting: "))
            #expect(try await failure(wire.session, "http://no-such-host.invalid/").code == .nameNotResolved)
            let relative = try await failure(wire.session, "nonsense")
            #expect(relative.code == .invalidURL && relative.url == "nonsense")
            #expect(try await failure(wire.session, "http://a b/").url == "http://a b/")
            let strict = wire.session.with { $0.options.access.httpsOnly = true }
            let insecure = try await failure(strict, "http://127.0.0.1/")
            #expect(insecure.code == .insecureConnection && insecure.url == "http://127.0.0.1/")
            let filtered = wire.session.with { $0.addressFilter = .publicOnly }
            #expect(try await failure(filtered, wire.url).code == .addressRefused)
            await filtered.shutdown()
            #expect(try await failure(filtered, wire.url).code == .shutdown)
            #expect(wire.server.requests.isEmpty)
        }
    }

    /// Every request of the session would fail with them.
    @Test func settingsThatCannotBeAreErrors() async throws {
        try await withWire { wire async throws in
            let settings: [(NetworkError.Code, @Sendable (inout Session.Configuration) -> Void)] = [
                (.invalidOption, { $0.rateLimit = .init(requestsPerSecond: 0) }),
                (.invalidOption, { $0.options.timeouts.total = .zero }),
                (.invalidOption, { $0.options.limits.bodyBytes = -1 }),
                (.invalidHeader, { $0.headers["a b"] = "c" }),
                (.invalidHeader, { $0.headers["X-Key"] = "a\nb" }),
            ]
            for (code, change) in settings {
                let session = wire.session.with(change)
                let error = await #expect(throws: NetworkError.self) { try await session.preconnect(to: wire.url + "/") }
                #expect(error?.code == code && error?.url == wire.url + "/", "\(error as Any)")
            }
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test func theTotalTimeEndsIt() async throws {
        let silent = try RawServer { connection, _ in connection.drain() }
        try await withSession {
            $0.options.timeouts.total = .milliseconds(100)
            $0.options.timeouts.connect = .seconds(50)
        } _: { session async throws in
            let error = await #expect(throws: NetworkError.self) { try await session.preconnect(to: "https://127.0.0.1:\(silent.port)/") }
            #expect(error?.code == .totalTimeout)
        }
        silent.stop()
    }

    /// A server that accepts and says nothing: the TLS handshake does not end.
    @Test func aCancelEndsIt() async throws {
        let silent = try RawServer { connection, _ in connection.drain() }
        try await withSession { session async throws in
            let url = "https://127.0.0.1:\(silent.port)/"
            let task = Task { try await session.preconnect(to: url) }
            while silent.accepted == 0 { try await Task.sleep(for: .milliseconds(1)) }
            task.cancel()
            await #expect(throws: NetworkError.self) { try await task.value }
            let early = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await session.preconnect(to: url)
            }
            await #expect(throws: NetworkError.self) { try await early.value }
            let slow = session.with { $0.options.timeouts.connect = .milliseconds(100) }
            do throws(NetworkError) {
                try await slow.preconnect(to: url)
                Issue.record("a connection was made")
            } catch { #expect(error.code == .connectTimeout) }
        }
        silent.stop()
    }

    @Test func aCustomTransportDoesNothing() async throws {
        let session = Session(configuration: .init(customTransport: StagedTransport(), agent: RequestAgent()))
        try await session.preconnect(to: "https://a.example/")
    }
}
