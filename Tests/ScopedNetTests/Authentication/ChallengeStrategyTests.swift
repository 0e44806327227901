import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct ChallengeStrategyTests {
    private typealias Refusal = ChallengeStrategy.Refusal
    private let ann = Credential.basic(user: "ann", password: "secret")
    private let token = Credential.bearer("t")
    private let offers = "Basic realm=\"b\", Digest realm=\"d\", nonce=\"1\", qop=\"auth\", algorithm=SHA-256, Bearer realm=\"t\""

    private func choose(_ field: String, _ credential: Credential?, refused: Set<ChallengeStrategy.Refusal> = []) -> ChallengeStrategy
        .Choice?
    {
        ChallengeStrategy.choose(AuthenticationChallenge.parse(field), refused: refused) { _ in credential }
    }

    @Test func digestGoesBeforeBasic() {
        #expect(choose(offers, ann)?.scheme == .digest)
        #expect(choose(offers, ann)?.realm == "d")
        #expect(choose(offers, ann)?.digest?.nonce == "1")
        #expect(choose(offers, token)?.scheme == .bearer)
        #expect(choose(offers, nil) == nil)
    }

    /// SEC-9: what was refused is not sent again.
    @Test func whatWasRefusedIsNotSentAgain() {
        #expect(choose(offers, ann, refused: [Refusal(ann, .digest)])?.scheme == .basic)
        #expect(choose(offers, ann, refused: [Refusal(ann, .digest), Refusal(ann, .basic)]) == nil)
        #expect(choose(offers, ann, refused: [Refusal(ann, .basic)])?.scheme == .digest)
        #expect(choose("Bearer", token, refused: [Refusal(token, .bearer)]) == nil)
        #expect(choose("", token, refused: [Refusal(token, .bearer)]) == nil)
    }

    @Test func aDigestNobodyKnowsIsPassedOver() {
        let field = "Digest realm=\"d\", nonce=\"1\", algorithm=SHA-1, Digest realm=\"e\", nonce=\"2\", algorithm=MD5"
        #expect(choose(field, ann)?.realm == "e")
        #expect(choose("Digest realm=\"d\", nonce=\"1\", algorithm=SHA-1, Basic realm=\"b\"", ann)?.scheme == .basic)
        #expect(choose("Negotiate", ann) == nil)
    }

    @Test func eachRealmHasItsOwn() {
        let challenges = AuthenticationChallenge.parse("Basic realm=\"one\", Basic realm=\"two\"")
        let choice = ChallengeStrategy.choose(challenges, refused: []) { $0 == "two" ? .basic(user: "2", password: "") : nil }
        #expect(choice?.realm == "two")
    }

    @Test func aRefusalWithoutAChallengeGetsItPlain() {
        #expect(choose("", ann)?.scheme == .basic)
        #expect(choose("", token)?.scheme == .bearer)
        #expect(choose("", nil) == nil)
    }

    @Test(arguments: [("", true), ("Bearer error=\"invalid_token\"", true), ("Basic realm=\"x\"", false), ("Basic, Bearer", true)])
    func whoWantsAToken(_ field: String, _ wants: Bool) {
        #expect(ChallengeStrategy.wantsToken(AuthenticationChallenge.parse(field)) == wants)
    }

    @Test func nothingShowsASecret() {
        var dumped = ""
        dump([ann, token], to: &dumped)
        let texts = ["\(ann)", "\(token)", String(reflecting: ann), String(reflecting: [token]), dumped]
        #expect(texts.allSatisfy { !$0.contains("secret") && !$0.contains("\"t\"") && !$0.contains("(t)") })
        #expect("\(ann)" == "basic(user: ann, password: ***)")
    }
}

@Suite(.leavesNothing) struct AnswerFieldTests {
    /// RFC 7617 section 2, and its example in UTF-8 (section 2.1).
    @Test(arguments: [("Aladdin", "open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="), ("test", "123£", "dGVzdDoxMjPCow==")])
    func basic(_ user: String, _ password: String, _ token: String) throws {
        let value = try AnswerField.value(.basic(user: user, password: password), digest: nil, method: "GET", target: "/", body: nil)
        #expect(value == "Basic " + token)
    }

    /// RFC 6750 section 2.1.
    @Test func bearer() throws {
        let value = try AnswerField.value(.bearer("mF_9.B5f-4.1JqM"), digest: nil, method: "GET", target: "/", body: nil)
        #expect(value == "Bearer mF_9.B5f-4.1JqM")
    }

    /// RFC 7616 section 3.9.1.
    @Test func digest() throws {
        let field = """
            Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, \
            nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
            """
        let challenge = try #require(DigestChallenge.first(in: [field]))
        let nonce = SpaceTable.Digest(challenge: challenge, count: 1, clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
        let value = try AnswerField.value(
            .basic(user: "Mufasa", password: "Circle of Life"), digest: nonce, method: "GET", target: "/dir/index.html", body: nil)
        #expect(value.contains("response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\""))
    }

    @Test(arguments: [
        Credential.basic(user: "a:b", password: ""), .basic(user: "a", password: "x\r\ny"), .bearer(""), .bearer("a\r\nX: y"),
        .bearer("\0"),
    ])
    func whatNoFieldCanHoldIsRefused(_ credential: Credential) {
        let error = #expect(throws: NetworkError.self) {
            try AnswerField.value(credential, digest: nil, method: "GET", target: "/", body: nil)
        }
        #expect(error?.code == .invalidHeader)
    }
}

@Suite(.leavesNothing) struct RequestTargetTests {
    @Test(arguments: [
        ("http://h", "/", "/"), ("http://h/", "/", "/"), ("http://h?x=/1", "/?x=/1", "/"),
        ("https://u:p@h:8443/a/b?c=d?e#f", "/a/b?c=d?e", "/a/b"),
        ("http://[::1]:81/x", "/x", "/x"),
    ])
    func isWhatGoesOut(_ url: String, _ target: String, _ path: String) throws {
        let url = try RequestURL(url)
        #expect(url.target == target)
        #expect(url.path == path)
    }
}
