import CleanSlate
import Foundation
import HTTPTypes
import Testing

@_spi(Transport) @testable import ScopedNet

/// Credentials and next steps, without a session: exchanges and heads in, fields and steps out.
@Suite(.leavesNothing) struct AuthenticationSessionTests {
    private let home: RequestURL
    private let timing = SystemTiming()

    init() throws { home = try RequestURL("http://host.test/a/b") }

    private func session(_ options: Authentication, store: CredentialStore? = nil, proxy: RequestURL.Origin? = nil) -> AuthenticationSession
    {
        AuthenticationSession(options, store: store, home: home, timing: timing) { _ in proxy }
    }

    private func exchange(_ fields: HTTPFields = [:], body: RequestBody? = nil, to url: RequestURL? = nil) -> AuthenticationSession.Exchange
    {
        .init(url: url ?? home, method: .get, fields: fields, body: body)
    }

    private func sent() throws -> TransferRequest {
        TransferRequest(url: home, headers: try HeaderBlock([:]), options: TransferOptions())
    }

    private func challenge(_ value: String, status: Int = 401) -> ResponseHead {
        ResponseHead(status: status, headers: [status == 407 ? .proxyAuthenticate : .wwwAuthenticate: value])
    }

    private func received(
        _ session: AuthenticationSession, _ head: ResponseHead, from source: ResponseSource = .network, mayAsk: Bool = true,
        mayAskServer: Bool = true
    ) throws -> AuthenticationSession.Step {
        session.received(head, try sent(), from: source, mayAsk: mayAsk, mayAskServer: mayAskServer)
    }

    @Test func mostRunsHaveNothingToSay() async {
        let store = CredentialStore()
        #expect(!AuthenticationSession.isNeeded(.automatic, store: nil) && !AuthenticationSession.isNeeded(.none, store: store))
        #expect(AuthenticationSession.isNeeded(.automatic, store: store))
        #expect(AuthenticationSession.isNeeded(.credential(.basic(user: "u", password: "p")), store: nil))
        let tokens = TokenSource("t") { _ in "new" }
        #expect(AuthenticationSession.isNeeded(.tokens(tokens), store: nil))
    }

    @Test func aPreemptiveCredentialGoesAlongAtOnce() throws {
        let basic = session(.credential(.basic(user: "u", password: "p"), preemptive: true))
        guard case .fields(let fields) = try basic.open(exchange([.accept: "*/*"])) else { return #expect(Bool(false)) }
        #expect(fields == [.accept: "*/*", .authorization: "Basic dTpw"])
        // The caller's own word counts.
        let own = session(.credential(.basic(user: "u", password: "p"), preemptive: true))
        guard case .fields(nil) = try own.open(exchange([.authorization: "Mine"])) else { return #expect(Bool(false)) }
    }

    @Test func aPlaceThatIsNoneIsAnError() {
        let nowhere = session(.credential(.basic(user: "u", password: "p"), at: "http://["))
        #expect(throws: NetworkError.self) { _ = try nowhere.open(exchange()) }
    }

    @Test func aTokenIsThereOrIsFetchedFirst() throws {
        let ready = session(.tokens(TokenSource("t") { _ in "new" }))
        guard case .fields(let fields) = try ready.open(exchange()) else { return #expect(Bool(false)) }
        #expect(fields == [.authorization: "Bearer t"])
        let fetched = session(.tokens(TokenSource { _ in "new" }))
        guard case .token = try fetched.open(exchange()) else { return #expect(Bool(false)) }
        #expect(try fetched.open(exchange(), with: "new") == [.authorization: "Bearer new"])
    }

    @Test func aChallengeIsAnsweredOnce() throws {
        let basic = session(.credential(.basic(user: "u", password: "p")))
        _ = try basic.open(exchange())
        let head = challenge("Basic realm=\"r\"")
        #expect(basic.leadsOn(head, try sent(), mayAsk: true))
        guard case .resend(let answer) = try received(basic, head) else { return #expect(Bool(false)) }
        let fields = try basic.fields(answering: answer, exchange()) { _ in
            Issue.record("no hash of a body is asked for")
            return nil
        }
        #expect(fields == [.authorization: "Basic dTpw"])
        basic.begin()
        #expect(!basic.leadsOn(head, try sent(), mayAsk: true))
        guard case .pass = try received(basic, head) else { return #expect(Bool(false)) }
    }

    @Test func otherStatusesPass() throws {
        let basic = session(.credential(.basic(user: "u", password: "p")))
        _ = try basic.open(exchange())
        for status in [200, 403, 500] {
            guard case .pass = try received(basic, ResponseHead(status: status)) else { return #expect(Bool(false)) }
        }
        // A server that plays the proxy gets nothing.
        guard case .pass = try received(basic, challenge("Basic realm=\"r\"", status: 407)) else { return #expect(Bool(false)) }
    }

    @Test func aStoredRefusalSaysNothing() throws {
        let basic = session(.credential(.basic(user: "u", password: "p")))
        _ = try basic.open(exchange())
        let head = challenge("Basic realm=\"r\"")
        guard case .pass = try received(basic, head, from: .cache, mayAskServer: false) else { return #expect(Bool(false)) }
        #expect(!basic.readsNothingStored)
        guard case .askServer = try received(basic, head, from: .cache) else { return #expect(Bool(false)) }
        #expect(basic.readsNothingStored)
        guard case .pass = try received(basic, head, from: .cache) else { return #expect(Bool(false)) }
    }

    @Test func theProgramDecides() throws {
        let handler = Authentication.handler { _ in .deliver }
        func asked() throws -> (AuthenticationSession, AuthenticationChallenge.Context)? {
            let session = session(handler)
            _ = try session.open(exchange())
            guard case .ask(_, let context) = try received(session, challenge("Basic realm=\"r\"")) else { return nil }
            return (session, context)
        }
        let (using, context) = try #require(try asked())
        #expect(context.space.realm == "r" && context.previousFailureCount == 0)
        guard case .resend(let answer) = using.answered(.use(.basic(user: "u", password: "p")), context, try sent()) else {
            return #expect(Bool(false))
        }
        #expect(answer.scheme == .basic)
        let (delivering, _) = try #require(try asked())
        guard case .pass = delivering.answered(.deliver, context, try sent()) else { return #expect(Bool(false)) }
        delivering.decline()
        guard case .pass = try received(delivering, challenge("Basic realm=\"r\"")) else { return #expect(Bool(false)) }
        let (failing, _) = try #require(try asked())
        guard case .fail(let error) = failing.answered(.cancel(CancellationError()), context, try sent()) else {
            return #expect(Bool(false))
        }
        #expect(error.code == .authenticationFailed)
        // For a run whose owner has gone the program is not asked.
        let gone = session(handler)
        _ = try gone.open(exchange())
        guard case .pass = try received(gone, challenge("Basic realm=\"r\""), mayAsk: false) else { return #expect(Bool(false)) }
    }

    @Test func aRefusedTokenIsRenewedOnce() throws {
        let tokens = session(.tokens(TokenSource("old") { _ in "new" }))
        _ = try tokens.open(exchange())
        guard case .token(_, let refused) = try received(tokens, challenge("Bearer")) else { return #expect(Bool(false)) }
        #expect(refused == "old")
        let answer = tokens.answer(with: "new", try sent())
        #expect(try tokens.fields(answering: answer, exchange()) { _ in [] } == [.authorization: "Bearer new"])
        tokens.begin()
        guard case .pass = try received(tokens, challenge("Bearer")) else { return #expect(Bool(false)) }
    }

    @Test func aNonceIsUsedAgainWithTheNextCount() throws {
        let digest = session(.credential(.basic(user: "u", password: "p")))
        _ = try digest.open(exchange())
        let head = challenge("Digest realm=\"r\", nonce=\"n\", qop=\"auth\"")
        guard case .resend(let answer) = try received(digest, head) else { return #expect(Bool(false)) }
        let first = try digest.fields(answering: answer, exchange()) { _ in [] }
        #expect(first[.authorization]?.contains("nc=00000001") == true)
        let second = try #require(digest.fields(retrying: exchange(first)))
        #expect(second[.authorization]?.contains("nc=00000002") == true)
        #expect(session(.none).fields(retrying: exchange()) == nil)
    }

    @Test func aHashOfTheBodyIsMadeWhereItIsAskedFor() throws {
        let digest = session(.credential(.basic(user: "u", password: "p")))
        let body = RequestBody.data(Data("body".utf8))
        _ = try digest.open(exchange(body: body))
        let head = challenge("Digest realm=\"r\", nonce=\"n\", qop=\"auth-int\"")
        guard case .resend(let answer) = try received(digest, head) else { return #expect(Bool(false)) }
        var reads = 0
        let fields = try digest.fields(answering: answer, exchange(body: body)) { _ in
            reads += 1
            return Array("body".utf8)
        }
        #expect(reads == 1 && fields[.authorization]?.contains("qop=auth-int") == true)
        // A retry would have to read it again: it waits for the challenge.
        #expect(digest.fields(retrying: exchange(fields, body: body))?[.authorization] == nil)
        #expect(throws: NetworkError.self) {
            _ = try session(.none).fields(answering: answer, exchange(body: body)) { _ in nil }
        }
    }

    @Test func nothingFollowsToAnotherServer() throws {
        let basic = session(.credential(.basic(user: "u", password: "p"), preemptive: true))
        guard case .fields(let fields?) = try basic.open(exchange()) else { return #expect(Bool(false)) }
        let (same, other) = (try RequestURL("http://host.test/c"), try RequestURL("http://other.test/"))
        #expect(try basic.fields(following: exchange(fields, to: same), isSameOrigin: true) == fields)
        // The redirect policy has dropped what it knows; nothing is put in its place there.
        #expect(try basic.fields(following: exchange([:], to: other), isSameOrigin: false) == [:])
        guard case .pass = try received(basic, challenge("Basic realm=\"r\""), from: .cache, mayAskServer: false) else {
            return #expect(Bool(false))
        }
    }
}
