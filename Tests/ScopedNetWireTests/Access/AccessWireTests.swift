import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// ``AccessPolicy`` by what servers saw.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct AccessWireTests {
    @Test func httpIsRefusedBeforeAnythingIsSent() async throws {
        try await withWire {
            $0.options.access.httpsOnly = true
        } _: { wire async throws in
            wire.server.on("/", .ok())
            let error = try await wire.get().failure()
            #expect(error.code == .insecureConnection && error.phase == .preparing && !error.mayHaveReachedServer)
            // A request's own options go before the session's.
            #expect(try await wire.get("/") { $0.access.httpsOnly = false }.response().status == 200)
            #expect(wire.server.requests.count == 1)
        }
    }

    /// Also where the policy for redirects would follow it.
    @Test(arguments: [false, true]) func aRedirectToHTTPIsRefused(_ allowsDowngrade: Bool) async throws {
        let authority = try TestAuthority()
        try await withLoopbackServer { plain async throws in
            plain.on("/", .ok("in the clear"))
            try await withWire(.tls(authority)) {
                $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                $0.options.access.httpsOnly = true
                $0.options.redirects.allowsDowngrade = allowsDowngrade
                $0.options.retry = .standard
            } _: { wire async throws in
                wire.server.on("/old", .redirect(to: plain.url + "/"))
                wire.server.on("/new", .redirect(to: "/here"))
                wire.server.on("/here", .ok("safe"))
                let error = try await wire.get("/old").failure()
                #expect(error.code == .insecureConnection && error.response?.status == 302, "\(error)")
                #expect(plain.connectionsAccepted == 0)
                #expect(try await wire.send("/new").body == Data("safe".utf8))
                // What is not followed is a response like any other.
                let options: (inout RequestOptions) -> Void = {
                    $0.redirects.mode = .never
                    $0.validation = .any
                }
                #expect(try await wire.get("/old", options).response().status == 302)
            }
        }
    }

    @Test func aRedirectOutsideIsRefused() async throws {
        try await withLoopbackServer { other async throws in
            try await withWire { wire async throws in
                wire.server.on("/port", .redirect(to: other.url + "/"))
                wire.server.on("/host", .redirect(to: "http://localhost:\(other.port)/"))
                let port = wire.server.port
                let byPort = try await wire.get("/port") { $0.access.ports = [port] }.failure()
                let byHost = try await wire.get("/host") { $0.access.deniedHosts = ["localhost"] }.failure()
                let byList = try await wire.get("/host") { $0.access.allowedHosts = ["127.0.0.1"] }.failure()
                for error in [byPort, byHost, byList] { #expect(error.code == .accessRefused && error.attempt == 1, "\(error)") }
                #expect(other.connectionsAccepted == 0)
            }
        }
    }
}
