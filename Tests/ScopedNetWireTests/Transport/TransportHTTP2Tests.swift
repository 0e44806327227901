import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportHTTP2Tests {
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    private func withHTTP2(
        _ protocols: [HTTPProtocol] = [.http2, .http1], configure: (inout Session.Configuration) -> Void = { _ in },
        _ test: (Wire) async throws -> Void
    ) async throws {
        try await withWire(.tls(authority, protocols)) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            configure(&$0)
        } _: {
            try await test($0)
        }
    }

    @Test func isAgreedOnByALPN() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/", .ok("two"))
            let response = try await wire.send()
            #expect(response.head.version == "2")
            #expect(response.body == Data("two".utf8))
            let request = try await wire.server.takeRequest()
            #expect(request.streamID == 1)
            #expect(request.tls?.applicationProtocol == "h2")
            #expect(request["accept-encoding"] == "gzip, deflate, br, zstd")
        }
    }

    /// Nobody knows how long the first response will take: others do not wait for it.
    @Test func goesOutBesideTheFirstOneOfItsConnection() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/slow", .ok("slow").stalling(.beforeHead))
            wire.server.on("/*", .ok("fast"))
            let slow = wire.get("/slow")
            let outcome = Task { await slow.outcome() }
            try await wire.server.waitForStalls()
            for number in 0..<5 { #expect(try await wire.send("/\(number)").body == Data("fast".utf8)) }
            wire.server.releaseStalls()
            #expect(try await outcome.value.get().body == Data("slow".utf8))
            #expect(wire.server.connectionsAccepted <= (Capabilities.current.sharesFreshHTTP2 ? 1 : 6))
        }
    }

    @Test func fallsBackWhenTheServerHasNone() async throws {
        try await withHTTP2([.http1]) { wire async throws in
            wire.server.on("/", .ok("one"))
            #expect(try await wire.send().head.version == "1.1")
            #expect(try await wire.server.takeRequest().streamID == nil)
        }
    }

    @Test func isNotSpokenWhenForbidden() async throws {
        try await withHTTP2 {
            $0.options.httpVersion = .http1
        } _: { wire async throws in
            wire.server.on("/", .ok("one"))
            #expect(try await wire.send().head.version == "1.1")
            #expect(try await wire.server.takeRequest().tls?.applicationProtocol == "http/1.1")
        }
    }

    @Test func isSpokenByPriorKnowledge() async throws {
        try await withWire(.init(protocols: [.http2])) {
            $0.options.httpVersion = .http2PriorKnowledge
        } _: { wire async throws in
            wire.server.on("/", .ok("two"))
            #expect(try await wire.send().head.version == "2")
        }
    }

    @Test func sixtyFourRequestsShareOneConnection() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/first", .ok())
            wire.server.on("/*", .ok("x").stalling(.beforeHead))
            // The first one learns what the server speaks; the queue's limit is then one of streams.
            _ = try await wire.send("/first")
            let requests = (0..<64).map { wire.get("/\($0)") }
            await withTaskGroup(of: Void.self) { group in
                for request in requests { group.addTask { #expect((try? await request.response().status) == 200) } }
                group.addTask {
                    try? await wire.server.waitForStalls(64)
                    wire.server.releaseStalls()
                }
            }
            #expect(wire.server.maxConcurrentRequests == 64)
            #expect(wire.server.connectionsAccepted == 1)
            #expect(Set(wire.server.requests.compactMap(\.streamID)).count == 65)
        }
    }

    /// Nobody knows yet what the server speaks: all wait for the first handshake, and then share it.
    @Test func aColdBurstSharesOneConnection() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/*", .ok("x"))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<64 { group.addTask { #expect((try? await wire.send("/\(number)").status) == 200) } }
            }
            #expect(wire.server.requests.count == 64)
            #expect(wire.server.connectionsAccepted <= (Capabilities.current.sharesFreshHTTP2 ? 1 : 6))
        }
    }

    @Test func streamsAreLimitedPerHost() async throws {
        try await withHTTP2 {
            $0.limits.streamsPerHost = 10
            $0.limits.perHost = 2
        } _: { wire async throws in
            wire.server.on("/first", .ok())
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            _ = try await wire.send("/first")
            for _ in 0..<15 { wire.get().start() }
            try await wire.server.waitForStalls(10)
            #expect(wire.session.admission.waitingCount == 5)
            wire.server.releaseStalls()
            try await wire.server.waitForRequests(15, path: "/")
            try await wire.server.waitForStalls(5)
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.maxConcurrentRequests == 10)
        }
    }

    /// THR-7. The host has spoken HTTP/2, and these are for HTTP/1.1 all the same.
    @Test func connectionsStayLimitedBesideStreams() async throws {
        try await withHTTP2 {
            $0.limits.perHost = 2
        } _: { wire async throws in
            wire.server.on("/first", .ok())
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            _ = try await wire.send("/first")
            for _ in 0..<5 { wire.get().start() }
            try await wire.server.waitForStalls(5)
            for _ in 0..<12 { wire.get { $0.httpVersion = .http1 }.start() }
            try await wire.server.waitForStalls(7)
            #expect(wire.session.admission.waitingCount == 10)
            #expect(wire.server.openConnections == 3)
            wire.server.on("/", .ok("x"))
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.count == 18)
            #expect(wire.server.maxOpenConnections == 3)
        }
    }

    /// Nobody knows yet what the host speaks: all are connections.
    @Test func anUnknownHostHasOneLimitForBoth() async throws {
        try await withHTTP2 {
            $0.limits.perHost = 2
        } _: { wire async throws in
            wire.server.on("/", .ok("x").stalling(.beforeHead))
            for number in 0..<6 { wire.get { $0.httpVersion = number.isMultiple(of: 2) ? .http1 : .automatic }.start() }
            try await wire.server.waitForStalls(2)
            #expect(wire.session.admission.activeCount == 2)
            wire.server.on("/", .ok("x"))
            wire.server.releaseStalls()
            await wire.agent.waitUntilIdle()
            #expect(wire.server.requests.count == 6)
            // One that makes room for another may still be open to the server when that one is.
            try await wire.server.waitForOpenConnections { $0 <= 3 }
        }
    }

    /// Another server answers at the same address, and it has no HTTP/2.
    @Test func aHostThatFallsBackIsLimitedInConnectionsAgain() async throws {
        let folder = TemporaryFolder()
        let identity = try authority.makeServerIdentity()
        let path = folder.path + "/s"
        try await withSession {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            $0.connection.unixSocketPath = path
            $0.limits.perHost = 2
        } _: { session async throws in
            try await withLoopbackServer(.init(tls: identity, protocols: [.http2], listen: .unixSocket(path))) { server async throws in
                server.on("/", .ok("two"))
                #expect(try await session.send("https://localhost/").head.version == "2")
            }
            // The client may not have heard yet that its connection is closed: none of the twelve is to be lost on it.
            session.transport.networkChanged()
            try await withLoopbackServer(.init(tls: identity, listen: .unixSocket(path))) { server async throws in
                server.on("/", .ok("one").stalling(.beforeHead))
                // They could be streams, as far as anybody knows; libcurl holds them to connections.
                for _ in 0..<12 { session.request("https://localhost/").start() }
                try await server.waitForStalls(3)
                #expect(session.admission.activeCount == 12)
                server.on("/", .ok("one"))
                server.releaseStalls()
                await session.agent.waitUntilIdle()
                #expect(server.maxOpenConnections == 3)

                server.on("/", .ok("one").stalling(.beforeHead))
                for _ in 0..<6 { session.request("https://localhost/").start() }
                try await server.waitForStalls(2)
                #expect(session.admission.waitingCount == 4)
                server.on("/", .ok("one"))
                server.releaseStalls()
                await session.agent.waitUntilIdle()
                #expect(server.requests.count == 18)
            }
        }
    }

    @Test func redirectsWork() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/a", .redirect(to: "/b", status: 307))
            wire.server.on("/b") { .ok($0.text) }
            let body = bytes(40_000)
            let response = try await wire.session.request(wire.url + "/a", method: .post, body: .data(Data(body.map { $0 & 0x7F })))
                .response()
            #expect(response.body.count == 40_000)
            #expect(wire.server.requests.map(\.method) == ["POST", "POST"])
            #expect(wire.server.connectionsAccepted == 1)
        }
    }

    @Test func aStreamThatIsResetInItsBodyIsTruncated() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/cut", .ok("0123456789").ending(.truncate(afterBytes: 4)))
            wire.server.on("/", .ok("fine"))
            let error = try await wire.get("/cut").failure()
            #expect([.truncatedBody, .connectionLost].contains(error.code), "\(error)")
            #expect(error.phase == .receiving)
            #expect(try await wire.send().body == Data("fine".utf8))
        }
    }

    @Test func aMixOfBodiesArrivesIntact() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/*") { request in .ok(.bytes(request.body + Array(request.path.utf8))) }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<32 {
                    group.addTask {
                        let body = bytes(number * 3_001)
                        let path = "/\(number)"
                        let response = try? await wire.send(path, method: "POST", body: .data(body))
                        let same = (response?.body).isSame(as: body + Data(path.utf8))
                        #expect(same)
                    }
                }
            }
        }
    }

    /// A handle that has spoken HTTP/2 goes on to a plain server: its requests must not wait for one another there.
    @Test func plainRequestsDoNotWaitForEachOtherAfterwards() async throws {
        try await withHTTP2 { wire async throws in
            wire.server.on("/", .ok())
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<6 { group.addTask { _ = try? await wire.send() } }
            }
            try await withLoopbackServer { plain async throws in
                plain.on("/", .ok("x").stalling(.beforeHead))
                let requests = (0..<3).map { _ in wire.session.request(plain.url + "/").options { $0.timeouts.firstByte = .seconds(5) } }
                await withTaskGroup(of: Void.self) { group in
                    for request in requests {
                        group.addTask {
                            let outcome = await request.outcome()
                            #expect((try? outcome.get().status) == 200, "\(outcome)")
                        }
                    }
                    group.addTask {
                        try? await plain.waitForStalls(3)
                        plain.releaseStalls()
                    }
                    for await _ in group {}
                }
                #expect(plain.maxConcurrentRequests == 3)
            }
        }
    }
}
