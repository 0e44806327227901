import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// RFC 9112 section 9.8: over TLS a body that ends with the connection is whole only where the server said that it would close.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct CloseNotifyTests {
    private static let text = "0123456789"
    private let authority: TestAuthority

    init() throws { authority = try TestAuthority() }

    private func withTLS(_ isTLS13: Bool = true, _ test: (Wire) async throws -> Void) async throws {
        var configuration = try LoopbackServer.Configuration.tls(authority)
        if !isTLS13 { configuration.tlsVersions = .tls12 }
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            try await test(wire)
        }
    }

    private func cut(_ framing: ScriptedResponse.Framing, after count: Int = text.utf8.count) -> ScriptedResponse {
        .ok(Self.text).framed(framing).ending(.closeWithoutNotify(afterBytes: count))
    }

    @Test(arguments: [true, false]) func aBodyUntilCloseEndsWithTheAlert(_ isTLS13: Bool) async throws {
        try await withTLS(isTLS13) { wire async throws in
            wire.server.on("/", .ok(Self.text).framed(.untilClose))
            #expect(try await wire.send().body == Data(Self.text.utf8))
        }
    }

    @Test(arguments: [true, false], [0, 4, 10]) func withoutTheAlertItIsCutShort(_ isTLS13: Bool, _ count: Int) async throws {
        try await withTLS(isTLS13) { wire async throws in
            wire.server.on("/", cut(.untilClose, after: count))
            let error = try await wire.get().failure()
            #expect(error.code == .truncatedBody, "\(error)")
            #expect(error.phase == .receiving)
            #expect(wire.server.requests.count == 1)
        }
    }

    /// For servers that never say so.
    @Test(arguments: [true, false]) func itCanBeTakenForTheEnd(_ isTLS13: Bool) async throws {
        try await withTLS(isTLS13) { wire async throws in
            wire.server.on("/", cut(.untilClose))
            let lenient = wire.session.with { $0.tls.dangerouslyAcceptsMissingCloseNotify = true }
            #expect(try await lenient.send(wire.url + "/").body == Data(Self.text.utf8))
            // A length is a length all the same.
            wire.server.on("/", cut(.contentLength, after: 4))
            #expect(try await lenient.request(wire.url + "/").failure().code == .truncatedBody)
            await lenient.shutdown()
        }
    }

    /// What libcurl 7.88 to 8.15 with OpenSSL 3.0 to 3.5 say of a cut, and of what is none.
    @Test(arguments: [
        ("OpenSSL SSL_read: OpenSSL/3.0.22: error:0A000126:SSL routines::unexpected eof while reading, errno 0", true),
        ("OpenSSL SSL_read: SSL_ERROR_SYSCALL, errno 0", true), ("OpenSSL SSL_read: Resource temporarily unavailable, errno 11", true),
        ("Connection closed abruptly", true), ("OpenSSL SSL_read: Connection reset by peer, errno 104", false),
        ("Recv failure: Connection reset by peer", false),
        ("OpenSSL SSL_read: OpenSSL/3.0.22: error:0A0003FC:SSL routines::sslv3 alert bad record mac, errno 0", false), ("", false),
    ])
    func theWordsForIt(_ text: String, _ isCut: Bool) { #expect(CurlError.isUnexpectedEnd(text) == isCut) }

    @Test func aFileIsNotMadeOfIt() async throws {
        let folder = TemporaryFolder()
        let file = folder.write("before", to: "file")
        try await withTLS { wire async throws in
            wire.server.on("/", cut(.untilClose))
            let error = try await wire.session.download(wire.url + "/", to: URL(filePath: file)).failure()
            #expect(error.code == .truncatedBody, "\(error)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == "before")
        }
    }

    @Test func aReaderOfTheStreamIsTold() async throws {
        try await withTLS { wire async throws in
            wire.server.on("/", cut(.untilClose))
            var read = Data()
            let error = await #expect(throws: NetworkError.self) {
                for try await piece in try await wire.session.stream(wire.url + "/").bytes { read += piece }
            }
            #expect(error?.code == .truncatedBody, "\(String(describing: error))")
            #expect(read == Data(Self.text.utf8))
        }
    }

    /// Framing says where such a body ends, and what becomes of the connection is no business of the response.
    @Test(arguments: ["GET", "POST"]) func aBodyWithALengthNeedsNoAlert(_ method: String) async throws {
        try await withTLS { wire async throws in
            wire.server.enqueue(cut(.contentLength))
            wire.server.on("/", .ok("again"))
            #expect(try await wire.send().body == Data(Self.text.utf8))
            try await wire.server.waitForOpenConnections { $0 == 0 }
            try await LocalSockets.waitForTheirEnd(at: wire.server.port)
            let body = method == "POST" ? RequestBody.data(Data("x".utf8)) : nil
            #expect(try await wire.send(method: method, body: body).body == Data("again".utf8))
        }
    }

    @Test(arguments: [ScriptedResponse.Framing.contentLength, .chunked]) func aBodyShortOfItsFramingIsTruncated(
        _ framing: ScriptedResponse.Framing
    ) async throws {
        try await withTLS { wire async throws in
            wire.server.on("/", cut(framing, after: 4))
            let error = try await wire.get().failure()
            #expect(error.code == .truncatedBody, "\(error)")
        }
    }

    @Test(arguments: [0, 20]) func beforeTheHeadIsWholeTheConnectionIsLost(_ count: Int) async throws {
        try await withTLS { wire async throws in
            wire.server.on("/", .raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ending(.closeWithoutNotify(afterBytes: count)))
            let error = try await wire.get().failure()
            // As over TCP.
            #expect(error.code == (count == 0 ? .connectionLost : .badResponse), "\(error)")
            #expect(error.mayHaveReachedServer)
        }
    }

    /// The server closes while the request is on its way: repeated once where that is safe.
    @Test(arguments: ["GET", "POST"]) func aPooledConnectionThatIsCut(_ method: String) async throws {
        try await withTLS { wire async throws in
            wire.server.on("/", .ok(Self.text))
            _ = try await wire.send()
            wire.server.enqueue(.raw("").ending(.closeWithoutNotify(afterBytes: 0)))
            if method == "GET" {
                #expect(try await wire.send().body == Data(Self.text.utf8))
            } else {
                let error = try await wire.session.request(wire.url + "/", method: .post, body: .data(Data("x".utf8))).failure()
                #expect(error.code == .connectionLost, "\(error)")
                #expect(error.mayHaveReachedServer)
            }
            #expect(wire.server.requests.count == (method == "GET" ? 3 : 2))
        }
    }

    @Test func anHTTP2StreamIsTruncated() async throws {
        var configuration = try LoopbackServer.Configuration.tls(authority)
        configuration.protocols = [.http2]
        try await withWire(configuration) {
            $0.tls.certificateAuthority = .pem(authority.certificatePEM)
        } _: { wire async throws in
            wire.server.on("/", cut(.contentLength, after: 4))
            let error = try await wire.get().failure()
            #expect(error.code == .truncatedBody || error.code == .connectionLost, "\(error)")
        }
    }

    /// The alert is the server's, not that of somebody on the way.
    @Test(arguments: [true, false]) func throughATunnel(_ isCut: Bool) async throws {
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity(hosts: ["nowhere.test"]))) { server async throws in
            server.on("/", isCut ? cut(.untilClose) : .ok(Self.text).framed(.untilClose))
            try await withLoopbackProxy(.init(hosts: ["nowhere.test": server.port])) { proxy async throws in
                try await withSession {
                    $0.proxy = .explicit(url: proxy.url)
                    $0.tls.certificateAuthority = .pem(authority.certificatePEM)
                } _: { session async throws in
                    let request = session.request("https://nowhere.test/")
                    if isCut {
                        #expect(try await request.failure().code == .truncatedBody)
                    } else {
                        #expect(try await request.response().body == Data(Self.text.utf8))
                    }
                }
                try await proxy.waitForOpenConnections { $0 == 0 }
            }
        }
    }

    /// What a proxy that speaks TLS says of an `http` URL comes over TLS: a server stands for it here.
    @Test(arguments: [true, false]) func throughAProxyThatSpeaksTLS(_ isCut: Bool) async throws {
        try await withLoopbackServer(.init(tls: try authority.makeServerIdentity())) { proxy async throws in
            proxy.on("/*", isCut ? cut(.untilClose) : .ok(Self.text).framed(.untilClose))
            try await withSession {
                $0.proxy = .explicit(url: "https://localhost:\(proxy.port)")
                $0.tls.certificateAuthority = .pem(authority.certificatePEM)
            } _: { session async throws in
                let request = session.request("http://nowhere.test/")
                if isCut {
                    #expect(try await request.failure().code == .truncatedBody)
                } else {
                    #expect(try await request.response().body == Data(Self.text.utf8))
                }
            }
        }
    }

    /// Without TLS nothing else can say so (RFC 9112 section 8).
    @Test func overTCPTheEndIsTheEnd() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", cut(.untilClose))
            #expect(try await wire.send().body == Data(Self.text.utf8))
        }
    }
}
