import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Strict transport security, by what the servers of both ports have seen.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HSTSWireTests {
    private struct Stage {
        let plain: LoopbackServer
        let secure: LoopbackServer
        let session: Session
        let store: Session.HSTSStore
        let recorder: EventRecorder

        var upgrades: [String] {
            recorder.events.compactMap { if case .upgraded(let from, let to) = $0 { "\(from) > \(to)" } else { nil } }
        }
    }

    /// Two servers: one is port 80 of every host, the other port 443 and 8443.
    private func withStage(configure: (inout Session.Configuration) -> Void = { _ in }, _ test: (Stage) async throws -> Void) async throws {
        let authority = try TestAuthority()
        let identity = try authority.makeServerIdentity(hosts: ["a.invalid", "b.invalid", "x.b.invalid", "127.0.0.1"])
        try await withLoopbackServer { plain async throws in
            try await withLoopbackServer(.init(tls: identity, protocols: [.http1])) { secure async throws in
                plain.on("/*", .ok("plain"))
                secure.on("/*", ScriptedResponse.ok("secure").header("Strict-Transport-Security", "max-age=1000"))
                let (store, recorder) = (Session.HSTSStore(), EventRecorder())
                try await withSession {
                    $0.hsts = store
                    $0.observers = [recorder]
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                    $0.connectsTo = [
                        .init(port: 80, to: "127.0.0.1", toPort: plain.port), .init(port: 443, to: "127.0.0.1", toPort: secure.port),
                        .init(port: 8443, to: "127.0.0.1", toPort: secure.port),
                    ]
                    configure(&$0)
                } _: { session async throws in
                    try await test(Stage(plain: plain, secure: secure, session: session, store: store, recorder: recorder))
                }
            }
        }
    }

    private func text(_ stage: Stage, _ url: String) async throws -> String {
        String(decoding: try await stage.session.send(url).body, as: UTF8.self)
    }

    @Test func aHostThatSaysSoIsAskedOverHTTPSFromThenOn() async throws {
        try await withStage { stage async throws in
            #expect(try await text(stage, "http://a.invalid/") == "plain" && stage.upgrades.isEmpty)
            #expect(try await text(stage, "https://a.invalid/") == "secure")
            let response = try await stage.session.send("http://A.invalid:80/path?q")
            #expect(response.body == Data("secure".utf8) && response.url.hasPrefix("https://"))
            #expect(try await text(stage, "http://a.invalid:8443/") == "secure")
            #expect(try await text(stage, "http://x.a.invalid/") == "plain")
            #expect(stage.plain.requests.count == 2 && stage.secure.requests.map(\.target) == ["/", "/path?q", "/"])
            #expect(stage.secure.requests.allSatisfy { $0.tls?.serverName == "a.invalid" } && stage.upgrades.count == 2)
            #expect(stage.upgrades.last == "http://a.invalid:8443/ > https://a.invalid:8443/")
        }
    }

    /// The store is the only thing that both programs have.
    @Test func theProgramThatIsStartedAgainKnowsIt() async throws {
        let folder = TemporaryFolder()
        for url in ["https://a.invalid/", "http://a.invalid/"] {
            let store = await Session.HSTSStore(StoreConfiguration(directory: folder.path + "/hsts"))
            try await withStage {
                $0.hsts = store
            } _: { stage async throws in
                #expect(try await text(stage, url) == "secure" && stage.plain.connectionsAccepted == 0)
            }
            try await store.flush()
        }
    }

    @Test func theEndOfItIsHeard() async throws {
        try await withStage { stage async throws in
            try stage.store.add([.init("a.invalid", expiryDate: .now + 1_000)])
            let request = stage.session.request("http://a.invalid/")
            #expect(try await request.value() == Data("secure".utf8))
            stage.secure.on("/end", ScriptedResponse.ok().header("Strict-Transport-Security", "max-age=0"))
            _ = try await stage.session.send("https://a.invalid/end")
            #expect(stage.store.entries.isEmpty)
            // The same request, started again.
            #expect(try await request.value() == Data("plain".utf8))
            _ = try await stage.session.send("https://a.invalid/")
            #expect(try await request.value() == Data("secure".utf8))
        }
    }

    @Test func whatComesOverHTTPAndForAnAddressIsNotBelieved() async throws {
        try await withStage { stage async throws in
            stage.plain.on("/*", ScriptedResponse.ok().header("Strict-Transport-Security", "max-age=1000"))
            _ = try await stage.session.send("http://a.invalid/")
            _ = try await stage.session.send("https://127.0.0.1/")
            stage.secure.on(
                "/two",
                ScriptedResponse.ok().header("Strict-Transport-Security", "nonsense").header("Strict-Transport-Security", "max-age=9"))
            _ = try await stage.session.send("https://b.invalid/two")
            #expect(stage.store.entries.isEmpty)
        }
    }

    @Test(arguments: [true, false]) func aSessionThatAcceptsAnyCertificateIsNotBelieved(_ isCertificate: Bool) async throws {
        try await withStage {
            if isCertificate { $0.tls.dangerouslyAcceptsAnyCertificate = true } else { $0.tls.dangerouslyAcceptsAnyHostName = true }
        } _: { stage async throws in
            #expect(try await text(stage, "https://a.invalid/") == "secure")
            #expect(stage.store.entries.isEmpty)
        }
    }

    @Test func aFailedHandshakeSaysNothingAndIsNotWorkedAround() async throws {
        try await withStage { stage async throws in
            try stage.store.add([.init("other.invalid")])
            let error = try await stage.session.request("http://other.invalid/").failure()
            #expect(error.code == .certificateWrongHost && stage.plain.requests.isEmpty)
        }
    }

    @Test func aRedirectIsUpgradedToo() async throws {
        try await withStage { stage async throws in
            try stage.store.add([.init("b.invalid", includesSubdomains: true)])
            stage.plain.on("/to-b", .redirect(to: "http://x.b.invalid/there"))
            // From https to http, which would not be followed.
            stage.secure.on("/down", .redirect(to: "http://b.invalid/there"))
            #expect(try await text(stage, "http://a.invalid/to-b") == "secure")
            #expect(try await text(stage, "https://a.invalid/down") == "secure")
            #expect(stage.upgrades.contains("http://x.b.invalid/there > https://x.b.invalid/there") && stage.plain.requests.count == 1)
            // To itself, over http: a circle.
            stage.secure.on("/circle", .redirect(to: "http://b.invalid/circle"))
            #expect(try await stage.session.request("https://b.invalid/circle").failure().code == .redirectLoop)
        }
    }

    @Test func httpsOnlyAndTheCacheGoByTheURLThatIsAsked() async throws {
        let folder = TemporaryFolder()
        try await withStage {
            $0.options.access.httpsOnly = true
            $0.cache = ResponseCache(StoreConfiguration(directory: folder.path + "/cache"))
        } _: { stage async throws in
            #expect(try await stage.session.request("http://b.invalid/").failure().code == .insecureConnection)
            try stage.store.add([.init("b.invalid")])
            stage.secure.on("/kept", ScriptedResponse.ok("kept").header("Cache-Control", "max-age=100"))
            #expect(try await text(stage, "http://b.invalid/kept") == "kept")
            #expect(try await text(stage, "https://b.invalid/kept") == "kept")
            #expect(stage.secure.requests.count == 1 && stage.plain.connectionsAccepted == 0)
        }
    }

    @Test func withoutAStoreNothingChanges() async throws {
        try await withStage {
            $0.hsts = nil
        } _: { stage async throws in
            _ = try await stage.session.send("https://a.invalid/")
            #expect(try await text(stage, "http://a.invalid/") == "plain" && stage.store.entries.isEmpty)
        }
    }
}
