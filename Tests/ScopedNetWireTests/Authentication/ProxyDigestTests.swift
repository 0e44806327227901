import CleanSlate
import Foundation
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Proxies that ask for Digest: the transport answers with the credentials of its configuration, before any tunnel is there.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1))) struct ProxyDigestTests {
    /// Refuses until a digest comes that is right (RFC 7616 section 3.4.1), and then answers `accepted`.
    private static func serve(_ connection: RawConnection, heads: Gathered<String>, accepted: String) {
        while let head = connection.readHead() {
            heads.add(head)
            guard isRight(head) else {
                let challenge = "Digest realm=\"p\", qop=\"auth\", algorithm=SHA-256, nonce=\"n1\", opaque=\"o\""
                connection.send("HTTP/1.1 407 Who\r\nProxy-Authenticate: \(challenge)\r\nContent-Length: 2\r\n\r\nno")
                continue
            }
            connection.send(accepted)
            return
        }
    }

    /// Whether a head has the digest of `ann` and `secret` for realm `p`.
    static func isRight(_ head: String) -> Bool {
        let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("proxy-authorization: ") }
        guard let line, let fields = AuthenticationChallenge.parse(String(line.dropFirst(21))).first?.parameters else { return false }
        func hash(_ text: String) -> String { MessageDigest.sha256.hexadecimal(Array(text.utf8)) }
        let method = head.prefix { $0 != " " }
        let action = hash("\(method):\(fields["uri"] ?? "")")
        let parts = [hash("ann:p:secret"), fields["nonce"], fields["nc"], fields["cnonce"], fields["qop"], action]
        return fields["response"] == hash(parts.map { $0 ?? "" }.joined(separator: ":"))
    }

    private func through(
        _ isPreemptive: Bool, accepted: String, _ url: String, _ check: (Result<Response<Data>, NetworkError>, [String]) throws -> Void
    ) async throws {
        let heads = Gathered<String>()
        let proxy = try RawServer { connection, _ in Self.serve(connection, heads: heads, accepted: accepted) }
        defer { proxy.stop() }
        let credentials = ProxyConfiguration.Credentials(user: "ann", password: "secret", isPreemptive: isPreemptive)
        try await withSession {
            $0.proxy = .explicit(url: "http://127.0.0.1:\(proxy.port)", credentials: credentials)
        } _: { session async throws in
            try check(await session.request(url).outcome(), heads.all)
        }
    }

    @Test func aTunnelIsAskedForTwice() async throws {
        // What follows in the tunnel is no TLS.
        try await through(false, accepted: "HTTP/1.1 200 In\r\n\r\nnothing", "https://nowhere.test/") { outcome, heads in
            #expect(heads.count == 2)
            #expect(heads.allSatisfy { $0.hasPrefix("CONNECT nowhere.test:443 ") })
            #expect(heads.first?.lowercased().contains("proxy-authorization") == false)
            #expect(throws: NetworkError.self) { try outcome.get() }
        }
    }

    @Test func aPlainRequestToo() async throws {
        let accepted = "HTTP/1.1 200 In\r\nContent-Length: 2\r\n\r\nin"
        try await through(false, accepted: accepted, "http://nowhere.test/a") { outcome, heads in
            let body = try outcome.get().body
            #expect(body == Data("in".utf8))
            #expect(heads.count == 2)
            #expect(heads.allSatisfy { $0.hasPrefix("GET http://nowhere.test/a ") })
        }
    }

    /// Basic would send the name as another one's; Digest can.
    @Test(arguments: [("Digest", 2), ("Basic", 1)]) func aNameWithAColonGoesByDigestAlone(_ scheme: String, _ count: Int) async throws {
        let heads = Gathered<String>()
        let refusal = "HTTP/1.1 407 No\r\nProxy-Authenticate: \(scheme) realm=\"p\", nonce=\"n\", qop=\"auth\"\r\nContent-Length: 0\r\n\r\n"
        let proxy = try RawServer { connection, _ in
            while let head = connection.readHead() {
                heads.add(head)
                connection.send(refusal)
            }
        }
        defer { proxy.stop() }
        let credentials = ProxyConfiguration.Credentials(user: "a:b", password: "secret", isPreemptive: false)
        try await withSession {
            $0.proxy = .explicit(url: "http://127.0.0.1:\(proxy.port)", credentials: credentials)
        } _: { session async throws in
            let error = try await session.request("http://nowhere.test/").failure()
            #expect(error.response?.status == 407)
        }
        #expect(heads.all.count == count, "\(heads.all)")
        #expect(heads.all.allSatisfy { !$0.contains("Proxy-Authorization: Basic") })
        #expect(heads.all.last?.contains("username=\"a:b\"") == (count == 2))
    }

    /// Basic at once is no answer to Digest, and is said to be none.
    @Test func basicAtOnceIsTheDefault() async throws {
        try await through(true, accepted: "", "http://nowhere.test/a") { outcome, heads in
            guard case .failure(let error) = outcome else { throw UnexpectedSuccess() }
            #expect(error.response?.status == 407)
            #expect(heads.count == 1)
            #expect(heads.first?.contains("Proxy-Authorization: Basic ") == true)
        }
    }
}
