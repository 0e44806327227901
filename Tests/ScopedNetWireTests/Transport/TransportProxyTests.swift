import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct TransportProxyTests {
    @Test func plainRequestsAreForwardedInAbsoluteForm() async throws {
        try await withLoopbackServer { server async throws in
            server.on("/path", .ok("origin"))
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                } _: { session async throws in
                    let response = try await session.send("http://nowhere.test/path?q=1")

                    #expect(response.body == Data("origin".utf8))
                    // The name exists at the proxy only, so nobody here resolved it.
                    #expect(try await proxy.takeRequest().target == "http://nowhere.test/path?q=1")
                    #expect(try await server.takeRequest()["host"] == "nowhere.test")
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// libcurl drops its mark, to a proxy in every version.
    @Test(arguments: ["http://nowhere.test/path?", "http://nowhere.test:80/?"])
    func anEmptyQueryIsForwardedToo(_ url: String) async throws {
        try await withLoopbackServer { server async throws in
            server.on("/*", .ok("origin"))
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                } _: { session async throws in
                    _ = try await session.send(url)
                    let target = try await proxy.takeRequest().target
                    #expect(target.replacing(":80/", with: "/") == url.replacing(":80/", with: "/"))
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// libcurl's own words show the whole URL.
    @Test(arguments: ["http://ann:pa#ss@gw.example:3128", "socks6://ann:pa-ss@gw.example"])
    func aMalformedProxyDoesNotShowItsPassword(_ proxy: String) async throws {
        try await withSession {
            $0.proxy = .explicit(url: proxy)
        } _: { session async throws in
            let error = try await session.request("http://nowhere.test/").failure()
            #expect(error.code == .invalidOption)
            #expect(!"\(error)".contains("pa#ss") && !"\(error)".contains("pa-ss") && !"\(error)".contains("ann"))
        }
    }

    @Test func httpsGoesThroughATunnel() async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity(hosts: ["nowhere.test"]))) { server async throws in
            server.on("/", .ok("secret"))
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                    $0.headers[.authorization] = "Bearer for-the-origin"
                } _: { session async throws in
                    let response = try await session.send("https://nowhere.test/")

                    #expect(response.body == Data("secret".utf8))
                    let tunnel = try await proxy.takeRequest()
                    #expect(tunnel.method == "CONNECT")
                    #expect(tunnel.target == "nowhere.test:443")
                    #expect(tunnel["authorization"] == nil)
                    #expect(try await server.takeRequest()["authorization"] == "Bearer for-the-origin")
                    // The head of the tunnel is not the head of the response.
                    #expect(response.head["via"] == nil)
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    @Test func credentialsGoToTheProxyOnly() async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
            server.on("/", .ok("hello"))
            try await withLoopbackProxy(.init(credentials: .init(user: "ann", password: "p:ss"))) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url, credentials: .init(user: "ann", password: "p:ss"))
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                } _: { session async throws in
                    #expect(try await session.send(server.url + "/").body == Data("hello".utf8))
                    #expect(try await proxy.takeRequest()["proxy-authorization"] == "Basic YW5uOnA6c3M=")
                    #expect(try await server.takeRequest()["proxy-authorization"] == nil)
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// The handler is for challenges of responses, and the tunnel's is none (SEC-7).
    @Test(arguments: [nil, ProxyConfiguration.Credentials(user: "ann", password: "wrong")])
    func aTunnelThatIsRefusedIsAProxyError(_ credentials: ProxyConfiguration.Credentials?) async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity())) { server async throws in
            try await withLoopbackProxy(.init(credentials: .init(user: "ann", password: "right"))) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url, credentials: credentials)
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                } _: { session async throws in
                    let asked = Counter()
                    let request = session.request(server.url + "/").options {
                        $0.authentication = .handler { _ in
                            asked.add()
                            return .performDefault
                        }
                    }
                    let error = try await request.failure()

                    #expect(asked.value == 0)
                    #expect(error.code == .proxyFailed)
                    #expect(error.message.contains("407"), "\(error)")
                    #expect(!error.mayHaveReachedServer)
                }
                #expect(server.connectionsAccepted == 0)
            }
        }
    }

    @Test func aForwardingProxySaysNoWithAStatus() async throws {
        try await withLoopbackProxy(.init(refusal: 403)) { proxy async throws in
            try await withSession {
                $0.proxy = .explicit(url: proxy.url)
            } _: { session async throws in
                let error = try await session.request("http://nowhere.test/").failure()

                #expect(error.code == .unacceptableStatus)
                #expect(error.response?.status == 403)
            }
        }
    }

    @Test func bypassedHostsAreReachedDirectly() async throws {
        try await withWire {
            $0.proxy = .explicit(url: "http://127.0.0.1:1", bypass: ["127.0.0.0/8", "other.test"])
        } _: { wire async throws in
            wire.server.on("/", .ok("direct"))
            #expect(try await wire.send().body == Data("direct".utf8))
            #expect(try await wire.send("/?").body == Data("direct".utf8))
            #expect(wire.server.requests.map(\.target) == ["/", "/?"])
        }
    }

    /// By a proxy that only carries bytes, and by none: a server is asked in its own form (RFC 9112 section 3.2.1).
    @Test(arguments: [false, true]) func aServerIsAskedInItsOwnForm(_ isHTTP2: Bool) async throws {
        try await withLoopbackServer(.init(protocols: [isHTTP2 ? .http2 : .http1])) { server async throws in
            server.on("/*", .ok("origin"))
            try await withLoopbackProxy(.init(.socks5, hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                    if isHTTP2 { $0.options.httpVersion = .http2PriorKnowledge }
                } _: { session async throws in
                    _ = try await session.send("http://nowhere.test/path?")
                    #expect(try await server.takeRequest().target == "/path?")
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    @Test func anUnreachableProxyIsNeverLeftOut() async throws {
        try await withWire {
            $0.proxy = .explicit(url: "http://127.0.0.1:1")
        } _: { wire async throws in
            wire.server.on("/", .ok("direct"))

            let error = try await wire.get().failure()

            #expect(error.code == .connectionRefused)
            #expect(error.phase == .connecting)
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test(arguments: ["bogus://127.0.0.1:8", "http://", ""])
    func aProxyThatMakesNoSenseIsAnError(_ proxy: String) async throws {
        try await withWire {
            $0.proxy = .explicit(url: proxy)
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect([.invalidOption, .proxyFailed, .proxyNotResolved].contains(error.code), "\(error)")
            #expect(wire.server.connectionsAccepted == 0)
        }
    }
}
