import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Who is asked by nginx, and what its log says of the answers.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.nginx.http != nil, Servers.whyNoNginx), .timeLimit(.minutes(2)))
struct NginxAuthenticationTests {
    private let alice = Credential.basic(user: "alice", password: "wonderland")
    private let wrong = Credential.basic(user: "alice", password: "looking-glass")
    private let answers = Answers()

    private func session(_ authentication: Authentication = .automatic, _ store: CredentialStore? = nil) -> Session {
        Servers.session {
            $0.observers = [answers]
            $0.credentials = store
            $0.options.authentication = authentication
        }
    }

    /// The first request is asked, and the others know.
    @Test func aStoreAnswersOnceForAll() async throws {
        let store = CredentialStore()
        store.set(alice, for: try ProtectionSpace(Servers.nginxURL, realm: "private"))
        let session = session(.automatic, store)
        let path = "/private/empty.bin"
        let known = try await Evidence.count(of: path)
        for _ in 0..<3 { _ = try await session.send(Servers.nginxURL + path) }
        let statuses = try await Evidence.next(4, of: path, after: known, session).map(\.status)
        #expect(statuses == [401, 200, 200, 200])
        #expect(answers.all == ["Basic"])
    }

    @Test func aWrongPasswordIsTriedOnce() async throws {
        let session = session(.credential(wrong))
        let path = "/private/wait.html"
        let known = try await Evidence.count(of: path)
        let error = try await session.request(Servers.nginxURL + path).failure()
        let statuses = try await Evidence.next(2, of: path, after: known, session).map(\.status)
        let status = error.response?.status
        #expect(status == 401)
        #expect(statuses == [401, 401])
        #expect(answers.all == ["Basic", nil])
    }

    /// A download holds what was asked for, and never the refusal.
    @Test func aDownloadIsAnsweredToo() async throws {
        let folder = try Folder()
        let request = session(.credential(alice)).download(Servers.nginxURL + "/private/feed.json", to: folder.file("feed"))
        let response = try await request.response()
        let (got, expected) = (try Data(contentsOf: folder.file("feed")), try Servers.file("www/feed.json"))
        #expect(response.attempts.count == 2)
        #expect(got == expected)
    }

    /// Eight are refused with the old token, or come when there is a new one: it is renewed once.
    @Test func aRefusedTokenIsRenewedOnceForAll() async throws {
        let renewals = Gathered<String?>()
        let tokens = TokenSource("old") { refused in
            renewals.add(refused)
            return "new"
        }
        let session = session(.tokens(tokens, at: Servers.nginxURL))
        let known = try await Evidence.count(of: "/token")
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<8 {
                group.addTask { try await session.request(Servers.nginxURL + "/token", decoder: .text).value() }
            }
            return try await group.reduce(into: [String]()) { $0.append($1) }
        }
        let refusals = answers.all.count
        let statuses = try await Evidence.next(8 + refusals, of: "/token", after: known, session).map(\.status).sorted()
        #expect(texts == Array(repeating: "Bearer new", count: 8))
        #expect(renewals.all == ["old"])
        #expect((1...8).contains(refusals))
        #expect(statuses == Array(repeating: 200, count: 8) + Array(repeating: 401, count: refusals))
    }

    /// The other server tells what it was told: nothing.
    @Test(.enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin)) func aCredentialStaysAtItsServer() async throws {
        let session = session(.credential(alice, preemptive: true)).with { $0.cookies = CookieJar() }
        let here = try await session.request(Servers.nginxURL + "/whoami", decoder: .text).value()
        #expect(here == "Basic YWxpY2U6d29uZGVybGFuZA==|")
        let query: Parameters = ["url": Servers.nginxURL + "/whoami"]
        let away = try await session.get(Servers.httpbinURL + "/redirect-to", query: query).value()
        let told = String(decoding: away, as: UTF8.self)
        #expect(told == "|")
    }
}
