import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import Testing

/// Challenges as httpbin writes them, and answers as it checks them.
@Suite(.leavesNothing, .serialized, .enabled(if: Servers.httpbin.http != nil, Servers.whyNoHTTPBin), .timeLimit(.minutes(2)))
struct HTTPBinAuthenticationTests {
    private struct Welcome: Decodable, Sendable, Equatable {
        var authenticated: Bool
        var user: String?
        var token: String?
    }

    private struct Ticket: Decodable, Sendable { var uuid: String }
    private struct NoPassword: Error, Equatable {}

    private let ann = Credential.basic(user: "ann", password: "secret")
    private let wrong = Credential.basic(user: "ann", password: "guess")
    private let answers = Answers()
    private func url(_ path: String) -> String { Servers.httpbinURL + path }

    private func session(_ authentication: Authentication, cookies: CookieJar? = nil) -> Session {
        Servers.session {
            $0.observers = [answers]
            $0.cookies = cookies
            $0.options.authentication = authentication
        }
    }

    /// `either` is no protection that httpbin knows: it offers both.
    static let paths = [
        "/basic-auth/ann/secret", "/digest-auth/auth/ann/secret/MD5", "/digest-auth/auth/ann/secret/SHA-256",
        "/digest-auth/auth-int/ann/secret/SHA-256", "/digest-auth/either/ann/secret/MD5",
    ]

    @Test(arguments: paths) func aChallengeIsAnsweredOnce(_ path: String) async throws {
        let response = try await session(.credential(ann)).get(url(path), as: Welcome.self).response()
        #expect(response.value == Welcome(authenticated: true, user: "ann"))
        #expect(response.attempts.count == 2)
        #expect(answers.all == [path.hasPrefix("/basic") ? "Basic" : "Digest"])
    }

    /// The second refusal is the result, and tells nobody the password.
    @Test(arguments: paths) func aWrongPasswordIsARefusalAfterOneAnswer(_ path: String) async throws {
        let error = try await session(.credential(wrong)).get(url(path), as: Welcome.self).failure()
        let status = error.response?.status
        let text = "\(error)"
        #expect(error.code == .unacceptableStatus)
        #expect(status == 401)
        #expect(answers.all == [path.hasPrefix("/basic") ? "Basic" : "Digest", nil])
        #expect(!text.contains("guess"))
    }

    @Test(arguments: paths) func withoutACredentialNothingIsAnswered(_ path: String) async throws {
        let error = try await session(.automatic).get(url(path), as: Welcome.self).failure()
        let status = error.response?.status
        #expect(status == 401)
        #expect(answers.all.isEmpty)
    }

    /// What is not offered here (RFC 7616 has SHA-512-256, httpbin the whole SHA-512) is not guessed at.
    @Test func anUnknownDigestIsNotAnswered() async throws {
        let error = try await session(.credential(ann)).get(url("/digest-auth/auth/ann/secret/SHA-512"), as: Welcome.self).failure()
        let status = error.response?.status
        #expect(status == 401)
        #expect(answers.all == [nil])
    }

    /// RFC 7617 section 2.1: UTF-8.
    @Test func aNameBeyondASCIIIsUnderstood() async throws {
        let credential = Credential.basic(user: "jürgen", password: "grüß")
        let path = url("/basic-auth/j%C3%BCrgen/gr%C3%BC%C3%9F")
        let welcome = try await session(.credential(credential)).get(path, as: Welcome.self).value()
        #expect(welcome == Welcome(authenticated: true, user: "jürgen"))
    }

    @Test(arguments: paths) func whatWasGoodOnceGoesAlongUnasked(_ path: String) async throws {
        let session = session(.credential(ann))
        var attempts: [Int] = []
        for _ in 0..<3 { attempts.append(try await session.get(url(path), as: Welcome.self).response().attempts.count) }
        #expect(attempts == [2, 1, 1])
        #expect(answers.all.count == 1)
    }

    /// It hides behind a 404 from whoever has not said who it is.
    @Test func aServerThatDoesNotAskIsToldUnasked() async throws {
        let path = "/hidden-basic-auth/ann/secret"
        let hidden = try await session(.credential(ann)).get(url(path), as: Welcome.self).failure()
        let status = hidden.response?.status
        #expect(status == 404)
        let response = try await session(.credential(ann, preemptive: true)).get(url(path), as: Welcome.self).response()
        #expect(response.value == Welcome(authenticated: true, user: "ann"))
        #expect(response.attempts.count == 1)
        #expect(answers.all.isEmpty)
    }

    /// httpbin keeps in cookies how often its nonce may be used: once here. Then it is stale, and the next one is used without a question.
    @Test func aStaleNonceIsReplaced() async throws {
        let session = session(.credential(ann), cookies: CookieJar())
        let path = url("/digest-auth/auth/ann/secret/SHA-256/1")
        let first = try await session.get(path, as: Welcome.self).response()
        let second = try await session.get(path, as: Welcome.self).response()
        #expect(first.value == Welcome(authenticated: true, user: "ann"))
        #expect(second.value == first.value)
        #expect(first.attempts.count == 2)
        #expect(second.attempts.count == 2)
        #expect(answers.all == ["Digest", "Digest"])
    }

    // MARK: Tokens and handlers

    /// The token comes from the server too, once for all who wait for it.
    @Test func aTokenIsFetchedOnceAndSentByAll() async throws {
        let login = Servers.session()
        let ticket = url("/uuid")
        let renewals = Gathered<String?>()
        let tokens = TokenSource { refused in
            renewals.add(refused)
            return try await login.get(ticket, as: Ticket.self).value().uuid
        }
        let session = session(.tokens(tokens, at: Servers.httpbinURL))
        let bearer = url("/bearer")
        let welcomes = try await withThrowingTaskGroup(of: Welcome.self) { group in
            for _ in 0..<8 { group.addTask { try await session.get(bearer, as: Welcome.self).value() } }
            return try await group.reduce(into: [Welcome]()) { $0.append($1) }
        }
        let token = try #require(tokens.token)
        #expect(welcomes == Array(repeating: Welcome(authenticated: true, token: token), count: 8))
        #expect(renewals.all == [nil])
        #expect(answers.all.isEmpty)
    }

    @Test func aHandlerAnswersWhatIsAsked() async throws {
        let asked = Gathered<[String]>()
        let authentication = Authentication.handler { challenge in
            asked.add(challenge.challenges.map(\.scheme) + ["\(challenge.previousFailureCount)"])
            return .use(.bearer("from the handler"))
        }
        let response = try await session(authentication).get(url("/bearer"), as: Welcome.self).response()
        #expect(response.value == Welcome(authenticated: true, token: "from the handler"))
        #expect(response.attempts.count == 2)
        #expect(asked.all == [["bearer", "0"]])
        #expect(answers.all == ["Bearer"])
    }

    @Test func aHandlerMayTryAgain() async throws {
        let (ann, wrong) = (ann, wrong)
        let authentication = Authentication.handler { .use($0.previousFailureCount == 0 ? wrong : ann) }
        let response = try await session(authentication).get(url("/basic-auth/ann/secret"), as: Welcome.self).response()
        #expect(response.value == Welcome(authenticated: true, user: "ann"))
        #expect(response.attempts.count == 3)
    }

    @Test func aHandlerMayGiveUp() async throws {
        let authentication = Authentication.handler { _ in .cancel(NoPassword()) }
        let error = try await session(authentication).get(url("/basic-auth/ann/secret"), as: Welcome.self).failure()
        let underlying = error.underlying as? NoPassword
        let status = error.response?.status
        #expect(error.code == .authenticationFailed)
        #expect(underlying == NoPassword())
        #expect(status == 401)
    }
}
