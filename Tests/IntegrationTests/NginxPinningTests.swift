import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Pins of keys and certificates, against chains that the openssl tool has made.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.https != nil, Servers.whyNoNginx), .timeLimit(.minutes(2)))
struct NginxPinningTests {
    /// The server closes behind each response here, so that each request shakes hands.
    private let path = "/closing/empty.bin"

    private func file(_ name: String) -> String { Servers.folder + "/" + name }

    /// As the openssl tool prints it, by the command in the documentation.
    private func pin(_ name: String) throws -> String {
        let text = String(decoding: try Servers.file(name + ".pin"), as: UTF8.self)
        return "sha256/" + text.filter { !$0.isWhitespace }
    }

    /// The test root is believed, unless `authority` says otherwise.
    private func session(
        _ trust: SecurityPolicy.Trust, authority: TLSConfiguration.CertificateAuthority? = nil, observers: [any RequestObserver] = []
    ) -> Session {
        Servers.session {
            if let authority { $0.tls.certificateAuthority = authority }
            $0.security.hosts["localhost"] = trust
            $0.observers = observers
        }
    }

    @Test func theRightKeyIsBelieved() async throws {
        let pins: [[SecurityPolicy.PublicKeyPin]] = [
            [.sha256(try pin("server"))], [.sha256(try pin("client")), .sha256(try pin("server"))],
            [.certificate(.file(file("server.pem")))], [.certificate(.file(file("ca.pem")))],
        ]
        for pins in pins {
            let session = session(.publicKeys(pins))
            let response = try await session.request(Servers.secureURL + path).response()
            #expect(response.status == 200, "\(pins)")
            await session.shutdown()
        }
    }

    /// These are the only anchors: the authorities of the system have no say.
    @Test(arguments: ["ca.pem", "server.pem"]) func theRightCertificateIsBelieved(_ name: String) async throws {
        let session = session(.certificates([.file(file(name))]), authority: .system)
        let response = try await session.request(Servers.secureURL + path).response()
        #expect(response.status == 200)
        await session.shutdown()
    }

    /// The chain is as good as ever, and the pins are another's. nginx never hears of the request.
    @Test func theWrongPinIsAMismatchBeforeAnythingIsSent() async throws {
        let server = try pin("server")
        let known = try await Evidence.count(of: path)
        let trusts: [SecurityPolicy.Trust] = [
            .publicKeys([.sha256(try pin("client"))]), .publicKeys([.certificate(.file(file("client.pem")))]),
            .certificates([.file(file("client.pem"))]),
        ]
        for trust in trusts {
            let session = session(trust)
            let error = try await session.request(Servers.secureURL + path).failure()
            let failure = try #require(error.underlying as? SecurityPolicy.TrustFailure)
            let shown = failure.chain.first?.publicKeyPin
            #expect(error.code == .pinMismatch, "\(trust)")
            #expect(!error.mayHaveReachedServer)
            #expect(failure.host == "localhost")
            #expect(failure.port == Servers.nginx.https)
            #expect(shown == server)
            await session.shutdown()
        }
        let after = try await Evidence.count(of: path)
        #expect(after == known)
    }

    /// A key proves nothing where the chain leads nowhere.
    @Test func aPinDoesNotReplaceTheChain() async throws {
        let session = session(.publicKeys([.sha256(try pin("server"))]), authority: .system)
        let error = try await session.request(Servers.secureURL + path).failure()
        #expect(error.code == .certificateUntrusted)
        await session.shutdown()
    }

    /// What an error shows can be pinned: asking a person first works.
    @Test func whatAnErrorShowsCanBePinned() async throws {
        let stranger = session(.system, authority: .system)
        let error = try await stranger.request(Servers.secureURL + path).failure()
        let failure = try #require(error.underlying as? SecurityPolicy.TrustFailure)
        let certificate = try #require(failure.chain.first)
        #expect(error.code == .certificateUntrusted)
        #expect(certificate.subject.contains("localhost"))
        let accepted = session(.certificates([.der(certificate.der)]), authority: .system)
        let response = try await accepted.request(Servers.secureURL + path).response()
        #expect(response.status == 200)
        await stranger.shutdown()
        await accepted.shutdown()
    }

    @Test func reportingOnlyLetsItThrough() async throws {
        let reports = TrustReports()
        let session = session(.publicKeys([.sha256(try pin("client"))], mode: .reportOnly), observers: [reports])
        let response = try await session.request(Servers.secureURL + path).response()
        let report = try #require(reports.list.all.first)
        #expect(response.status == 200)
        #expect(reports.list.all.count == 1)
        #expect(report.isReportOnly)
        #expect(report.reason == .pinMismatch)
        await session.shutdown()
    }

    /// Other names of the same server have no pins here.
    @Test func pinsAreForTheirHostAlone() async throws {
        let session = session(.publicKeys([.sha256(try pin("client"))]))
        let response = try await session.request("https://127.0.0.1:\(Servers.nginx.https ?? 0)" + path).response()
        #expect(response.status == 200)
        await session.shutdown()
    }

    /// Without TLS there is nothing to compare.
    @Test func aPinnedHostIsNotAskedInTheClear() async throws {
        let session = session(.publicKeys([.sha256(try pin("server"))]))
        let known = try await Evidence.count(of: path)
        let error = try await session.request("http://localhost:\(Servers.nginx.http ?? 0)" + path).failure()
        let after = try await Evidence.count(of: path)
        #expect(error.code == .insecureConnection)
        #expect(!error.mayHaveReachedServer)
        #expect(after == known)
        await session.shutdown()
    }
}

private final class TrustReports: RequestObserver {
    let list = Gathered<SecurityPolicy.TrustFailure>()

    func observe(_ event: RequestEvent) {
        if case .trustReported(let failure) = event.kind { list.add(failure) }
    }
}
