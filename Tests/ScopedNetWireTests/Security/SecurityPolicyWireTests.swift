import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// Policies of hosts, and what travels between them: redirects, pools, sessions of TLS, proxies.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct SecurityPolicyWireTests {
    private let chains: TestChains

    init() throws { chains = try TestChains() }

    private func trusting(_ configuration: inout Session.Configuration, _ policy: SecurityPolicy) {
        configuration.tls.certificateAuthority = .pem(chains.root.certificatePEM)
        configuration.security = policy
    }

    private let mismatch = SecurityPolicy.Trust.publicKeys([TestChains.spare])

    /// A server whose certificate is right, and a session that knows its root.
    private func withServer(
        under policy: SecurityPolicy, observers: [any RequestObserver] = [], _ test: (Wire) async throws -> Void
    ) async throws {
        try await withWire(.init(tls: try chains.server().shown)) {
            trusting(&$0, policy)
            $0.observers = observers
        } _: {
            try await test($0)
        }
    }

    @Test func otherHostsAreNotAskedForPins() async throws {
        try await withServer(under: .one("127.0.0.1", mismatch)) { wire async throws in
            wire.server.on("/", .ok("hello"))
            #expect(try await wire.send().status == 200)
            let error = try await wire.session.request("https://127.0.0.1:\(wire.server.port)/").failure()
            #expect(error.code == .pinMismatch && error.trust?.host == "127.0.0.1")
        }
    }

    /// A domain pinned by a wildcard, over a tunnel: the proxy has nothing to do with it.
    @Test func aDomainIsPinnedWithAllBelowIt() async throws {
        let server = try chains.server(hosts: ["a.example.test", "b.a.example.test", "example.test"])
        try await withLoopbackServer(.init(tls: server.shown)) { server async throws in
            server.on("/", .ok("hello"))
            let port = server.port
            let hosts = ["a.example.test": port, "A.Example.Test": port, "b.a.example.test": port, "example.test": port]
            try await withLoopbackProxy(.init(hosts: hosts)) { proxy async throws in
                try await withSession {
                    trusting(&$0, .one("*.example.test", mismatch))
                    $0.proxy = .explicit(url: proxy.url)
                } _: { session async throws in
                    for host in ["a.example.test", "b.a.example.test", "A.Example.Test"] {
                        let error = try await session.request("https://\(host)/").failure()
                        #expect(error.code == .pinMismatch && error.trust?.host == host.lowercased())
                    }
                    #expect(try await session.send("https://example.test/").status == 200)
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    @Test func aRedirectIntoAMismatchFails() async throws {
        try await withServer(under: .one("127.0.0.1", mismatch)) { wire async throws in
            wire.server.on("/", .redirect(to: "https://127.0.0.1:\(wire.server.port)/there"))
            wire.server.on("/there", .ok("secret"))
            let error = try await wire.get().failure()
            #expect(error.code == .pinMismatch && error.trust?.host == "127.0.0.1")
            #expect(wire.server.requests.count == 1)
        }
    }

    // MARK: http (SEC-6)

    // SEC-6
    @Test func aPinnedHostOverHTTPIsNotAsked() async throws {
        try await withWire {
            $0.security = .one("127.0.0.1", mismatch)
        } _: { wire async throws in
            wire.server.on("/*", .ok("plain"))
            let port = wire.server.port
            let relative = wire.session.with { $0.baseURL = "http://127.0.0.1:\(port)/base/" }
            for request in [wire.session.request("http://127.0.0.1:\(port)/"), relative.request("leaf")] {
                let error = try await request.failure()
                #expect(error.code == .insecureConnection && error.phase == .preparing)
                #expect(error.message.contains("127.0.0.1") && !error.mayHaveReachedServer)
            }
            #expect(wire.server.connectionsAccepted == 0)
            // Another host is none of its business.
            #expect(try await wire.session.send("http://localhost:\(port)/").status == 200)
        }
    }

    // SEC-6
    @Test func aRedirectToAPinnedHostOverHTTPIsNotFollowed() async throws {
        try await withWire {
            $0.security = .one("127.0.0.1", mismatch)
        } _: { wire async throws in
            let port = wire.server.port
            wire.server.on("/", .redirect(to: "http://127.0.0.1:\(port)/there"))
            wire.server.on("/there", .ok("plain"))
            let error = try await wire.session.request("http://localhost:\(port)/").failure()
            #expect(error.code == .insecureConnection && error.runID != 0)
            #expect(wire.server.requests.map(\.path) == ["/"])
        }
    }

    // SEC-6
    @Test func whatOnlyReportsMayGoOverHTTP() async throws {
        try await withWire {
            $0.security = SecurityPolicy(.publicKeys([TestChains.spare], mode: .reportOnly))
        } _: { wire async throws in
            wire.server.on("/", .ok("plain"))
            #expect(try await wire.send().status == 200)
        }
    }

    /// The transport sees to it by itself as well: whoever gives it a transfer.
    @Test func theTransportRefusesItToo() async throws {
        try await withLoopbackServer { server async throws in
            var settings = ConnectionSettings()
            settings.proxy = .none
            settings.security = SecurityPolicy(mismatch)
            let transport = CurlTransport(settings: settings)
            let sink = EndingSink()
            transport.start(
                TransferRequest(url: try RequestURL(server.url + "/"), headers: try HeaderBlock([:]), options: TransferOptions()),
                sink: sink)
            let result = await sink.result()
            #expect(result.error?.code == .insecureConnection)
            #expect(server.connectionsAccepted == 0)
            await transport.shutdown()
        }
    }

    // MARK: Pools and sessions

    @Test func connectionsDoNotCrossPolicies() async throws {
        try await withServer(under: SecurityPolicy()) { wire async throws in
            wire.server.on("/", .ok("hello"))
            #expect(try await wire.send().status == 200)
            let strict = wire.session.with { $0.security = SecurityPolicy(mismatch) }
            let error = try await strict.request(wire.url + "/").failure()
            #expect(error.code == .pinMismatch)
            #expect(wire.server.connectionsAccepted == 2)
            // Side by side, each with its own.
            async let loose = wire.session.request(wire.url + "/").outcome()
            async let tight = strict.request(wire.url + "/").outcome()
            let (one, other) = await (loose, tight)
            #expect((try? one.get().status) == 200)
            #expect(throws: NetworkError.self) { try other.get() }
            await strict.shutdown()
        }
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func nothingIsResumedAfterAMismatch(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        let server = try chains.server()
        var configuration = LoopbackServer.Configuration(tls: server.shown)
        configuration.tlsVersions = versions
        try await withWire(configuration) {
            trusting(&$0, SecurityPolicy(mismatch))
        } _: { wire async throws in
            for _ in 0..<3 {
                let error = try await wire.get().failure()
                #expect(error.code == .pinMismatch && error.trust?.chain.count == 3)
            }
            #expect(wire.server.connectionsAccepted == 3 && wire.server.requests.isEmpty)
        }
    }

    @Test(arguments: [LoopbackServer.Configuration.TLSVersions.tls12, .tls13])
    func pinnedServersAreResumed(_ versions: LoopbackServer.Configuration.TLSVersions) async throws {
        let server = try chains.server()
        var configuration = LoopbackServer.Configuration(tls: server.shown)
        configuration.tlsVersions = versions
        try await withWire(configuration) {
            trusting(&$0, SecurityPolicy(.publicKeys([.key(of: server.alone)])))
        } _: { wire async throws in
            wire.server.on("/", .ok("hello").ending(.close))
            for _ in 0..<3 { #expect(try await wire.send().status == 200) }
            #expect(wire.server.connectionsAccepted == 3)
        }
    }

    @Test func manyStreamsOfOneConnection() async throws {
        let server = try chains.server()
        try await withWire(.init(tls: server.shown, protocols: [.http2])) {
            trusting(&$0, SecurityPolicy(.publicKeys([.key(of: chains.intermediate)])))
        } _: { wire async throws in
            wire.server.on("/*", .ok("hello"))
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<20 { group.addTask { try await wire.send("/\(number)").head.version } }
                for try await version in group { #expect(version == "2") }
            }
            #expect(wire.server.connectionsAccepted <= (Capabilities.current.sharesFreshHTTP2 ? 1 : 6))
            let strict = wire.session.with { $0.security = SecurityPolicy(mismatch) }
            let outcomes = await withTaskGroup(of: NetworkError.Code?.self) { group in
                for number in 0..<5 {
                    group.addTask {
                        do throws(NetworkError) { _ = try await strict.request(wire.url + "/\(number)").response() } catch {
                            return error.code
                        }
                        return nil
                    }
                }
                var found: [NetworkError.Code?] = []
                for await code in group { found.append(code) }
                return found
            }
            #expect(outcomes == Array(repeating: .pinMismatch, count: 5))
            await strict.shutdown()
        }
    }

    // MARK: Reports

    @Test func aReportComesBeforeTheRequestGoesOut() async throws {
        let observer = EventRecorder()
        let policy = SecurityPolicy(.publicKeys([TestChains.spare], mode: .reportOnly))
        try await withServer(under: policy, observers: [observer]) { wire async throws in
            wire.server.on("/", .ok("hello"))
            #expect(try await wire.send().status == 200)
            #expect(try await wire.send().status == 200)
            // Once for each connection.
            #expect(wire.server.connectionsAccepted == 1)
            let report = try #require(observer.trustReports.first)
            #expect(observer.trustReports.count == 1)
            #expect(report.isReportOnly && report.reason == .pinMismatch && report.host == "localhost" && report.chain.count == 3)
            let order = observer.events.compactMap { kind -> String? in
                switch kind {
                case .trustReported: "report"
                case .requestSent: "sent"
                default: nil
                }
            }
            #expect(order == ["report", "sent", "sent"])
        }
    }

    @Test func aRejectionIsToldBeforeTheAttemptsEnd() async throws {
        let observer = EventRecorder()
        try await withServer(under: SecurityPolicy(mismatch), observers: [observer]) { wire async throws in
            let error = try await wire.get().failure()
            let order = observer.events.compactMap { kind -> String? in
                switch kind {
                case .trustReported(let failure): failure == error.trust ? "rejected" : "?"
                case .attemptFinished: "attempt"
                case .finished: "end"
                default: nil
                }
            }
            #expect(order == ["rejected", "attempt", "end"])
        }
    }

    // MARK: Proxies

    /// A server that speaks TLS stands for a proxy that does: what is asked of a proxy is asked before it hears of the request.
    @Test func aProxyThatSpeaksTLSHasAPolicyOfItsOwn() async throws {
        let server = try chains.server()
        try await withLoopbackServer(.init(tls: server.shown)) { proxy async throws in
            proxy.on("/*", .ok("by proxy"))
            let url = "https://localhost:\(proxy.port)"
            try await withSession {
                $0.security = .one("localhost", .certificates([.pem(chains.root.certificatePEM)]))
                $0.proxy = .explicit(url: url)
            } _: { session async throws in
                #expect(try await session.send("http://nowhere.test/").status == 200)
                #expect(proxy.requests.count == 1)
            }
            try await withSession {
                $0.security = .one("localhost", .certificates([.pem(chains.stranger.certificatePEM)]))
                $0.proxy = .explicit(url: url)
            } _: { session async throws in
                for target in ["http://nowhere.test/", "https://nowhere.test/", "https://192.0.2.1/"] {
                    let error = try await session.request(target).failure()
                    #expect(error.code == .pinMismatch && error.trust?.host == "localhost" && error.trust?.port == proxy.port)
                }
                #expect(proxy.requests.count == 1)
            }
        }
    }

    @Test(arguments: [false, true]) func aProxyThatSpeaksTLSIsHeldToTheAuthorityOfTheSession(_ isFile: Bool) async throws {
        let server = try chains.server()
        let folder = TemporaryFolder()
        let root = folder.write(Data(chains.root.certificatePEM.utf8), to: "root.pem")
        let pem = chains.root.certificatePEM
        try await withLoopbackServer(.init(tls: server.shown)) { proxy async throws in
            proxy.on("/*", .ok("by proxy"))
            try await withSession {
                $0.tls.certificateAuthority = isFile ? .file(root) : .pem(pem)
                $0.proxy = .explicit(url: "https://localhost:\(proxy.port)")
            } _: { session async throws in
                #expect(try await session.send("http://nowhere.test/").status == 200)
            }
            try await withSession {
                $0.proxy = .explicit(url: "https://localhost:\(proxy.port)")
            } _: { session async throws in
                let error = try await session.request("http://nowhere.test/").failure()
                #expect(error.code == .certificateUntrusted, "\(error)")
            }
        }
    }

    @Test func twoAddressesThatCannotBeToldApartAreRefused() async throws {
        let server = try chains.server()
        try await withLoopbackServer(.init(tls: server.shown)) { proxy async throws in
            try await withSession {
                $0.security = .one("127.0.0.1", .certificates([.pem(chains.root.certificatePEM)]))
                $0.proxy = .explicit(url: "https://127.0.0.1:\(proxy.port)")
            } _: { session async throws in
                let error = try await session.request("https://192.0.2.1/").failure()
                #expect(error.code == .certificateUntrusted && error.message.contains("proxy"))
                #expect(proxy.requests.isEmpty)
            }
            // Without pins there is nothing to be told apart: the certificate itself is what is wrong.
            try await withSession {
                $0.proxy = .explicit(url: "https://127.0.0.1:\(proxy.port)")
            } _: { session async throws in
                let error = try await session.request("https://192.0.2.1/").failure()
                #expect(error.code == .certificateUntrusted && error.trust?.verifyCode == 20)
                #expect(proxy.requests.isEmpty)
            }
        }
    }

    // MARK: Cancelling (G5)

    @Test func aCancelDuringTheHandshakeEndsIt() async throws {
        let (greeted, greeting) = AsyncStream<Void>.makeStream()
        // It hears the client's greeting and says nothing.
        let server = try RawServer { connection, _ in
            _ = connection.read(5)
            greeting.yield()
            connection.drain()
        }
        let observer = EventRecorder()
        try await withSession {
            trusting(&$0, SecurityPolicy(mismatch))
            $0.observers = [observer]
        } _: { session async throws in
            let run = session.request("https://127.0.0.1:\(server.port)/").start()
            for await _ in greeted { break }
            _ = run.cancel()
            await session.agent.waitUntilIdle()
            let isSilent = observer.events.allSatisfy { kind in
                switch kind {
                case .trustReported, .requestSent, .secured: false
                default: true
                }
            }
            #expect(isSilent)
        }
        server.stop()
    }
}

/// Waits for the end of one transfer.
private final class EndingSink: TransferSink {
    private let ending = AsyncStream<TransferResult>.makeStream()

    func result() async -> TransferResult {
        for await result in ending.stream { return result }
        return TransferResult()
    }

    func transfer(_ id: TransferID, didReach milestone: TransferMilestone, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didReceive head: ResponseHead, batch: DeliveryBatch) -> BodyDestination { .memoryPrefix(limit: 0) }
    func transfer(_ id: TransferID, didSend count: Int64, of total: Int64?, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didReceive count: Int64, of total: Int64?, batch: DeliveryBatch) {}
    func transfer(_ id: TransferID, didFinishWith result: TransferResult, batch: DeliveryBatch) { ending.continuation.yield(result) }
}
