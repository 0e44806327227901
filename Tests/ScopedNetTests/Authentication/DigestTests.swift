import CleanSlate
import ScopedNet
import Testing

/// RFC 7616; the example of section 3.9.2 as corrected by erratum 4897.
@Suite(.leavesNothing) struct DigestAnswerTests {
    private static let challenge =
        #"Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=ALG, "#
        + #"nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#

    // Section 3.9.1
    @Test(arguments: [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"), ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ])
    func theExampleWithTwoAlgorithms(_ algorithm: String, _ response: String) throws {
        let challenge = try #require(DigestChallenge.first(in: [Self.challenge.replacing("ALG", with: algorithm)]))
        let value = try DigestAnswer(user: "Mufasa", password: "Circle of Life").fieldValue(
            for: challenge,
            .init(method: "GET", target: "/dir/index.html", clientNonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", count: 1))
        #expect(
            value == #"Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm="# + algorithm
                + #", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", "#
                + "qop=auth, response=\"\(response)\", " + #"opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS""#)
    }

    // Section 3.9.2
    @Test func theExampleWithAHashedName() throws {
        let field =
            #"Digest realm="api@example.org", qop="auth", algorithm=SHA-512-256, nonce="5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK", "#
            + #"opaque="HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS", charset=UTF-8, userhash=true"#
        let challenge = try #require(DigestChallenge.first(in: [field]))
        let value = try DigestAnswer(user: "J\u{E4}s\u{F8}n Doe", password: "Secret, or not?").fieldValue(
            for: challenge,
            .init(method: "GET", target: "/doe.json", clientNonce: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v", count: 1))
        #expect(value.contains(#"username="793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b""#))
        #expect(value.contains(#"response="3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5""#))
        #expect(value.hasSuffix("userhash=true"))
    }

    // RFC 2617 section 3.5, and the form of RFC 2069 without qop (checked with a program of its own).
    @Test func olderServersAreAnswered() throws {
        let nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093"
        let answer = DigestAnswer(user: "Mufasa", password: "Circle Of Life")
        let exchange = DigestAnswer.Exchange(method: "GET", target: "/dir/index.html", clientNonce: "0a4f113b", count: 1)
        let new = try #require(DigestChallenge.first(in: [#"Digest realm="testrealm@host.com", qop="auth,auth-int", nonce="\#(nonce)""#]))
        let withCount = try answer.fieldValue(for: new, exchange)
        #expect(withCount.contains(#"response="6629fae49393a05397450978507c4ef1""#) && !withCount.contains("algorithm"))
        let old = try #require(DigestChallenge.first(in: [#"Digest realm="testrealm@host.com", nonce="\#(nonce)""#]))
        let without = try answer.fieldValue(for: old, exchange)
        #expect(
            without.contains(#"response="670fd8c2df070c60b045671b8b24ff02""#) && !without.contains("nc=") && !without.contains("cnonce"))
    }

    @Test func theBodyIsHashedWhereTheServerWantsIt() throws {
        let field = #"Digest realm="r", qop="auth-int", nonce="n", algorithm=MD5-sess"#
        let challenge = try #require(DigestChallenge.first(in: [field]))
        let answer = DigestAnswer(user: "u", password: "p")
        var exchange = DigestAnswer.Exchange(method: "POST", target: "/", clientNonce: "c", count: 255)
        let error = #expect(throws: NetworkError.self) { try answer.fieldValue(for: challenge, exchange) }
        #expect(error?.code == .bodyNotReplayable)
        exchange.body = Array("body".utf8)
        let value = try answer.fieldValue(for: challenge, exchange)
        #expect(value.contains("nc=000000ff, cnonce=\"c\", qop=auth-int, response=\"\(Self.sessionResponse)\""))
    }

    /// By `md5(md5(md5("u:r:p") + ":n:c") + ":n:000000ff:c:auth-int:" + md5("POST:/:" + md5("body")))` of another implementation.
    private static let sessionResponse = "343f78b9f1eff7f11e407ed7f59da187"

    /// Without a protection the client's nonce is in the hash of the session alone, and the server has to know it.
    @Test func aSessionWithoutAProtectionNamesItsNonce() throws {
        let challenge = try #require(DigestChallenge.first(in: [#"Digest realm="r", nonce="n", algorithm=MD5-sess"#]))
        let value = try DigestAnswer(user: "u", password: "p").fieldValue(
            for: challenge, .init(method: "GET", target: "/", clientNonce: "c", count: 1))
        #expect(value.contains(#"nonce="n", cnonce="c", response=""#) && !value.contains("nc="))
    }

    @Test func namesAreQuotedOrExtended() throws {
        let challenge = try #require(DigestChallenge.first(in: [#"Digest realm="a\"b\\c", nonce="n", qop=auth"#]))
        let exchange = DigestAnswer.Exchange(method: "GET", target: "/", clientNonce: "c", count: 1)
        let quoted = try DigestAnswer(user: #"u"\"#, password: "p").fieldValue(for: challenge, exchange)
        #expect(quoted.hasPrefix(#"Digest username="u\"\\", realm="a\"b\\c", "#))
        let extended = try DigestAnswer(user: "J\u{E4}s\u{F8}n Doe/?!", password: "p").fieldValue(for: challenge, exchange)
        #expect(extended.hasPrefix("Digest username*=UTF-8''J%C3%A4s%C3%B8n%20Doe%2F%3F!, "))
        let error = #expect(throws: NetworkError.self) {
            try DigestAnswer(user: "a\r\nX: y", password: "p").fieldValue(for: challenge, exchange)
        }
        #expect(error?.code == .invalidHeader)
    }
}

@Suite(.leavesNothing) struct DigestChallengeTests {
    @Test(arguments: [
        #"Digest nonce="n""#, #"Digest realm="r""#, #"Digest realm="r", nonce="n", algorithm=SHA-1"#,
        #"Digest realm="r", nonce="n", qop="x""#,
        #"Basic realm="r", nonce="n""#, "", "Digest", #"Digest realm="r", nonce="n", qop="""#, #"Digest realm="r", nonce="n"#,
        "Digest realm=\"r\r\nX: y\", nonce=\"n\"", "Digest realm=\"r\u{7F}\", nonce=\"n\"", "Digest realm=\"r\", nonce=\"n\u{1F}\"",
    ])
    func whatCannotBeAnsweredIsNone(_ field: String) { #expect(DigestChallenge.first(in: [field]) == nil) }

    @Test(arguments: ["auth-int, auth", "auth-int,  AUTH ", " auth ,x"]) func protectionsStandBetweenBlanks(_ options: String) throws {
        let challenge = try #require(DigestChallenge.first(in: ["Digest realm=\"r\", nonce=\"n\", qop=\"\(options)\""]))
        #expect(challenge.protection == .auth)
    }

    @Test func theFirstThatCanBeAnsweredIsTaken() throws {
        let fields = [
            #"Basic realm="r", Digest realm="r", nonce="1", algorithm=X, digest REALM = "r" , Nonce="2",algorithm=sha-256-SESS,stale=TRUE"#,
            #"Digest realm="r", nonce="3""#,
        ]
        let challenge = try #require(DigestChallenge.first(in: fields))
        #expect(challenge.nonce == "2" && challenge.algorithm.digest == .sha256 && challenge.algorithm.isSession && challenge.isStale)
        #expect(challenge.protection == nil && !challenge.hashesUser && challenge.opaque == nil)
    }
}

/// RFC 9110 section 11.6.1.
@Suite(.leavesNothing) struct AuthenticationChallengeTests {
    private typealias Challenge = AuthenticationChallenge

    @Test(
        arguments: [
            ("Basic", [AuthenticationChallenge(scheme: "basic")]),
            (#"Basic realm="a, b=\"c\"""#, [.init(scheme: "basic", parameters: ["realm": #"a, b="c""#])]),
            ("Negotiate YII+/-._~==", [.init(scheme: "negotiate", token68: "YII+/-._~==")]),
            ("Negotiate YII= \t, Basic", [.init(scheme: "negotiate", token68: "YII="), .init(scheme: "basic")]),
            ("Negotiate , Basic realm=x", [.init(scheme: "negotiate"), .init(scheme: "basic", parameters: ["realm": "x"])]),
            (
                #"Newauth realm="apps", type=1, title="Login to \"apps\"", Basic realm="simple""#,
                [
                    .init(scheme: "newauth", parameters: ["realm": "apps", "type": "1", "title": #"Login to "apps""#]),
                    .init(scheme: "basic", parameters: ["realm": "simple"]),
                ]
            ),
            (" ,, A x = 1 ,\t, y=\"\" ,B", [.init(scheme: "a", parameters: ["x": "1", "y": ""]), .init(scheme: "b")]),
            ("A x=1, x=2, X=3", [.init(scheme: "a", parameters: ["x": "1"])]),
            ("A x=1, B abc=, C", [.init(scheme: "a", parameters: ["x": "1"]), .init(scheme: "b", token68: "abc="), .init(scheme: "c")]),
            ("\"x\", A", [.init(scheme: "a")]), ("A x=\"1, B y=2", [.init(scheme: "a")]), ("A x=\"1\\", [.init(scheme: "a")]),
            ("A {bad}, B", [.init(scheme: "a"), .init(scheme: "b")]),
            ("A x=1 y=2, B", [.init(scheme: "a", parameters: ["x": "1"]), .init(scheme: "b")]),
            ("", []), (",, ,", []), ("=", []),
        ] as [(String, [AuthenticationChallenge])])
    func challengesAreTakenApart(_ field: String, _ challenges: [AuthenticationChallenge]) {
        #expect(AuthenticationChallenge.parse(field) == challenges)
    }
}

@Suite(.leavesNothing) struct DigestExchangeTests {
    private static func field(_ nonce: String, stale: Bool = false) -> [String] {
        [#"Digest realm="r", nonce="\#(nonce)", qop="auth", stale=\#(stale)"#]
    }

    @Test func aNonceIsCountedAndUsedAgain() throws {
        var exchange = DigestExchange()
        #expect(exchange.preempt() == nil)
        let first = exchange.refused(fields: Self.field("1"), answered: nil)
        let challenge = try #require(DigestChallenge.first(in: Self.field("1")))
        #expect(first == .answer(challenge, count: 1))
        let second = exchange.preempt()?.count
        let third = exchange.preempt()?.count
        // Another request that was sent without an answer.
        let fourth = exchange.refused(fields: Self.field("1"), answered: nil)
        #expect(second == 2 && third == 3 && fourth == .answer(challenge, count: 4))
    }

    @Test func wrongCredentialsAreNotSentTwice() {
        var exchange = DigestExchange()
        _ = exchange.refused(fields: Self.field("1"), answered: nil)
        let decision = exchange.refused(fields: Self.field("2"), answered: "1")
        #expect(decision == .giveUp)
        #expect(exchange.preempt() == nil)
    }

    @Test func aStaleNonceIsReplacedAFewTimes() throws {
        var exchange = DigestExchange()
        _ = exchange.refused(fields: Self.field("1"), answered: nil)
        for number in 0..<DigestExchange.mostStaleAnswers {
            let field = Self.field("\(number + 2)", stale: true)
            let fresh = try #require(DigestChallenge.first(in: field))
            #expect(exchange.refused(fields: field, answered: "\(number + 1)", staleAnswers: number) == .answer(fresh, count: 1))
        }
        let last = exchange.refused(fields: Self.field("9", stale: true), answered: "8", staleAnswers: DigestExchange.mostStaleAnswers)
        #expect(last == .giveUp)
        #expect(exchange.preempt() == nil)
        var other = DigestExchange()
        _ = other.refused(fields: Self.field("1"), answered: nil)
        let same = other.refused(fields: Self.field("1", stale: true), answered: "1")
        #expect(same == .giveUp)
    }

    @Test func otherSchemesAreNotAnswered() {
        var exchange = DigestExchange()
        let decision = exchange.refused(fields: ["Basic realm=x", "Bearer"], answered: nil)
        #expect(decision == .unsupported)
    }
}

/// RFC 1321 appendix A.5 and FIPS 180-4, with lengths around the ends of blocks.
@Suite(.leavesNothing) struct MessageDigestTests {
    @Test(arguments: [
        (MessageDigest.md5, "", "d41d8cd98f00b204e9800998ecf8427e"), (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (.md5, "12345678901234567890123456789012345678901234567890123456789012345678901234567890", "57edf4a22be3c955ac49da2e2107b67a"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (.sha512Half, "abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
    ])
    func theirOwnExamples(_ digest: MessageDigest, _ text: String, _ expected: String) {
        #expect(digest.hexadecimal(Array(text.utf8)) == expected)
    }

    /// Each length from 0 to 300 of one letter, hashed one after the other into one more hash.
    @Test(arguments: [
        (MessageDigest.md5, "16cf437a90cf3ffd37c953f0e470b487"),
        (.sha256, "e8e4a8cfe049153f6f930f2156161a5b19bb9b3dc4b698c20e4d44a29d7f9526"),
        (.sha512Half, "421178a08df047c618a9a168c1a3969488a2516daea3159905db4beffd303921"),
    ])
    func everyLengthIsPadded(_ digest: MessageDigest, _ expected: String) {
        let all = (0...300).flatMap { digest.hash([UInt8](repeating: 0x61, count: $0)) }
        #expect(digest.hexadecimal(all) == expected)
    }
}
