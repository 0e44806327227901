import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// TLS and HTTP/2 as nginx and OpenSSL speak them.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.https != nil, Servers.whyNoNginx), .timeLimit(.minutes(3)))
struct NginxTLSTests {
    private func text(_ url: String, _ session: Session) async throws -> String {
        String(decoding: try await session.request(url).response().body, as: UTF8.self)
    }

    @Test func http2IsAgreedOnAndShared() async throws {
        let session = Servers.session()
        let responses = try await withThrowingTaskGroup(of: Response<Data>.self) { group in
            for _ in 0..<100 { group.addTask { try await session.request(Servers.secureURL + "/feed.json").response() } }
            return try await group.reduce(into: [Response<Data>]()) { $0.append($1) }
        }
        let expected = try Servers.file("www/feed.json")
        #expect(responses.allSatisfy { $0.body == expected })
        #expect(Set(responses.map(\.metrics.httpVersion)) == ["2"])
        #expect(Set(responses.map { $0.head["x-connection"] }).count <= (Capabilities.current.sharesFreshHTTP2 ? 1 : 6))
        await session.shutdown()
    }

    @Test func http1OverTLSWhenAskedFor() async throws {
        let session = Servers.session { $0.options.httpVersion = .http1 }
        let response = try await session.request(Servers.secureURL + "/feed.json").response()
        #expect(response.metrics.httpVersion == "1.1")
        await session.shutdown()
    }

    @Test func aCertificateOfTheClientIsShown() async throws {
        let url = "https://localhost:\(Servers.nginx.mutual ?? 0)/"
        let stranger = Servers.session()
        let refused = try await stranger.request(url).failure()
        #expect(refused.response?.status == 400)
        let known = Servers.session {
            $0.tls.clientCertificate = .files(certificate: Servers.folder + "/client.pem", key: Servers.folder + "/client.key")
        }
        let introduced = try await text(url, known)
        #expect(introduced == "CN=a-client|TLSv1.3|HTTP/2.0")
        await stranger.shutdown()
        await known.shutdown()
    }

    @Test func theMinimumVersionIsEnforced() async throws {
        let url = "https://localhost:\(Servers.nginx.tls12 ?? 0)/"
        let usual = Servers.session()
        let spoken = try await text(url, usual)
        #expect(spoken == "TLSv1.2|HTTP/1.1")
        let strict = Servers.session { $0.tls.minimumVersion = .tls13 }
        let error = try await strict.request(url).failure()
        #expect(error.code == .tlsFailed)
        await usual.shutdown()
        await strict.shutdown()
    }

    @Test func strangersAreNotTrusted() async throws {
        let session = Servers.session { $0.tls.certificateAuthority = .system }
        #expect(try await session.request(Servers.secureURL + "/").failure().code == .certificateUntrusted)
        await session.shutdown()
        let named = Servers.session()
        let byAddress = try await named.request("https://127.0.0.1:\(Servers.nginx.https ?? 0)/feed.json").response()
        #expect(byAddress.status == 200)
        await named.shutdown()
    }

    @Test func cancellingOneStreamSparesItsNeighbours() async throws {
        let session = Servers.session()
        let (heads, head) = AsyncStream.makeStream(of: Void.self)
        var bag: DeallocBag? = DeallocBag(label: "page")
        if let bag {
            session.request(Servers.secureURL + "/slow/100M.bin?cancelled").onResponseHead { _ in head.yield() }.start(in: bag)
        }
        for await _ in heads { break }
        let folder = try Folder()
        async let neighbour = session.download(Servers.secureURL + "/100M.bin", to: folder.file("x")).response()
        bag = nil
        let received = try await neighbour.metrics.bodyBytesReceived
        #expect(received == 100 << 20)
        let evidence = try await Evidence.first(session) { $0.path == "/slow/100M.bin" && $0.protocol == "HTTP/2.0" }
        #expect(evidence.bytes < 10 << 20)
        await session.shutdown()
    }

    @Test func largeBodiesUpOverHTTP2() async throws {
        let session = Servers.session()
        let body = Data((0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 13) })
        let response = try await session.request(Servers.secureURL + "/up/h2", method: .put, body: .data(body)).response()
        #expect([201, 204].contains(response.status))
        #expect(try Servers.file("up/h2") == body)
        await session.shutdown()
    }
}
