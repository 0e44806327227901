import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Where a session may not go nginx hears nothing.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.http != nil, Servers.whyNoNginx), .timeLimit(.minutes(2)))
struct NginxAccessTests {
    /// Nobody else asks for it.
    private let path = "/closing/wait.html"

    @Test func httpIsRefusedAndHTTPSIsNot() async throws {
        let session = Servers.session { $0.options.access.httpsOnly = true }
        let known = try await Evidence.count(of: path)
        let error = try await session.request(Servers.nginxURL + path).failure()
        let after = try await Evidence.count(of: path)
        #expect(error.code == .insecureConnection)
        #expect(error.phase == .preparing)
        #expect(!error.mayHaveReachedServer)
        #expect(after == known)
        let response = try await session.request(Servers.secureURL + path).response()
        #expect(response.status == 200)
        await session.shutdown()
    }

    /// `/away` of the https server leads to the http server.
    @Test func aWayDownIsTakenOnlyWhereThatIsAllowed() async throws {
        let session = Servers.session()
        let away = session.request(Servers.secureURL + "/away")
        let usual = try await away.failure()
        let usualStatus = usual.response?.status
        #expect(usual.code == .redirectRefused)
        #expect(usualStatus == 307)
        let allowed = try await away.options { $0.redirects.allowsDowngrade = true }.response()
        let expected = try Servers.file("www/feed.json")
        #expect(allowed.url == Servers.nginxURL + "/feed.json")
        #expect(allowed.body == expected)
        let strict = try await away.options { $0.access.httpsOnly = true }.failure()
        #expect(strict.code == .insecureConnection)
        await session.shutdown()
    }

    @Test func hostsAndPortsAreMinded() async throws {
        let session = Servers.session()
        let known = try await Evidence.count(of: path)
        let byHost = session.request(Servers.nginxURL + path).options { $0.access.allowedHosts = ["localhost"] }
        let byName = session.request(Servers.nginxURL + path).options { $0.access.deniedHosts = ["127.0.0.1"] }
        let byPort = session.request(Servers.nginxURL + path).options { $0.access.ports = [443] }
        for request in [byHost, byName, byPort] {
            let error = try await request.failure()
            #expect(error.code == .accessRefused)
        }
        let after = try await Evidence.count(of: path)
        #expect(after == known)
        await session.shutdown()
    }

    @Test func theLoopbackIsNotPublic() async throws {
        let session = Servers.session { $0.addressFilter = .publicOnly }
        let known = try await Evidence.count(of: path)
        let port = Servers.nginx.http ?? 0
        let urls = ["http://127.0.0.1:\(port)", "http://localhost:\(port)", "http://0x7f.1:\(port)", Servers.secureURL]
        for url in urls {
            let error = try await session.request(url + path).failure()
            #expect(error.code == .addressRefused, "\(url): \(error)")
            #expect(!error.mayHaveReachedServer)
        }
        let after = try await Evidence.count(of: path)
        #expect(after == known)
        await session.shutdown()
    }

    @Test func anAddressThatIsAllowedIsReached() async throws {
        let loopback = try AddressFilter.Range("127.0.0.1")
        let session = Servers.session { $0.addressFilter = AddressFilter(allowed: [loopback]) }
        for url in [Servers.nginxURL, Servers.secureURL] {
            let response = try await session.request(url + path).response()
            #expect(response.status == 200)
        }
        await session.shutdown()
    }

    /// The server of a stranger leads inside: the first address may be asked, the second may not.
    @Test(.enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin)) func aRedirectInsideIsRefused() async throws {
        let allowed = try AddressFilter.Range("127.0.0.1")
        let session = Servers.session { $0.addressFilter = AddressFilter(allowed: [allowed]) }
        let inside = "http://127.0.0.2:\(Servers.nginx.http ?? 0)/"
        let error = try await session.get(Servers.httpbinURL + "/redirect-to", query: ["url": inside]).failure()
        #expect(error.code == .addressRefused)
        await session.shutdown()
    }
}
