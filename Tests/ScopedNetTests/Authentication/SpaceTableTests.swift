import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing) struct SpaceTableTests {
    private let ann = Credential.basic(user: "ann", password: "secret")
    private let origin = RequestURL.Origin(scheme: "http", host: "h", port: 80)
    private var space: ProtectionSpace { ProtectionSpace(origin: origin, realm: "r") }

    private func volunteer(_ table: inout SpaceTable, _ path: String, at origin: RequestURL.Origin? = nil) -> SpaceTable.Answer? {
        table.volunteer(origin ?? self.origin, isProxy: false, path: path, clientNonce: "c")
    }

    private func challenge(_ nonce: String, _ more: String = "") throws -> DigestChallenge {
        try #require(DigestChallenge.first(in: ["Digest realm=\"r\", nonce=\"\(nonce)\", qop=\"auth\"\(more)"]))
    }

    /// RFC 7617 section 2.2.
    @Test func basicCoversThePathsBesideAndBelow() {
        var table = SpaceTable()
        #expect(volunteer(&table, "/docs/a") == nil)
        table.learn(space, ann, .basic, path: "/docs/index.html")
        for path in ["/docs/", "/docs/test.doc", "/docs/deep/er"] { #expect(volunteer(&table, path)?.credential == ann) }
        for path in ["/", "/doc", "/docs", "/other/docs/"] { #expect(volunteer(&table, path) == nil) }
        #expect(volunteer(&table, "/docs/", at: RequestURL.Origin(scheme: "https", host: "h", port: 443)) == nil)
        #expect(table.volunteer(origin, isProxy: true, path: "/docs/", clientNonce: "c") == nil)
    }

    @Test func ofSeveralTheNearestPathCounts() {
        var table = SpaceTable()
        let bob = Credential.basic(user: "bob", password: "")
        table.learn(space, ann, .basic, path: "/")
        table.learn(ProtectionSpace(origin: origin, realm: "inner"), bob, .basic, path: "/inner/x")
        #expect(volunteer(&table, "/inner/y")?.credential == bob)
        #expect(volunteer(&table, "/y")?.credential == ann)
    }

    /// RFC 7616 section 3.4: the count goes up with each use, and begins anew with each nonce.
    @Test func noncesCountUp() throws {
        var table = SpaceTable()
        let first = table.digest(try challenge("1"), in: space, of: ann, answered: nil, staleAnswers: 0, clientNonce: "c")
        #expect(first?.count == 1)
        // Not known to be good yet.
        #expect(volunteer(&table, "/") == nil)
        table.learn(space, ann, .digest, path: "/x")
        #expect(volunteer(&table, "/anywhere")?.digest?.count == 2)
        #expect(table.next(in: space, of: ann, clientNonce: "c")?.count == 3)
        let other = table.digest(try challenge("2", ", stale=true"), in: space, of: ann, answered: "1", staleAnswers: 0, clientNonce: "c")
        #expect(other?.count == 1)
        #expect(other?.challenge.nonce == "2")
        let second = table.digest(
            try challenge("3", ", stale=true"), in: space, of: ann, answered: "2", staleAnswers: DigestExchange.mostStaleAnswers,
            clientNonce: "c")
        #expect(second == nil)
        let wrong = table.digest(try challenge("4"), in: space, of: ann, answered: "3", staleAnswers: 0, clientNonce: "c")
        #expect(wrong == nil)
    }

    /// Section 3.5.
    @Test func aServerMayNameTheNextNonce() throws {
        var table = SpaceTable()
        _ = table.digest(try challenge("1"), in: space, of: ann, answered: nil, staleAnswers: 0, clientNonce: "c")
        table.follow(by: "2", in: space, of: ann, clientNonce: "d")
        let next = table.next(in: space, of: ann, clientNonce: "e")
        #expect(next?.challenge.nonce == "2")
        #expect(next?.count == 1)
        table.follow(by: "2", in: space, of: ann, clientNonce: "d")
        table.follow(by: "bad\n", in: space, of: ann, clientNonce: "d")
        table.follow(by: "3", in: space, of: .bearer("t"), clientNonce: "d")
        #expect(table.next(in: space, of: ann, clientNonce: "e")?.challenge.nonce == "2")
        #expect(table.next(in: space, of: ann, clientNonce: "e")?.count == 3)
    }

    /// Section 3.4.2: the key of a session is bound to the first nonce of the client.
    @Test func aSessionKeepsItsClientNonce() throws {
        var table = SpaceTable()
        let challenge = try challenge("1", ", algorithm=MD5-sess")
        let first = table.digest(challenge, in: space, of: ann, answered: nil, staleAnswers: 0, clientNonce: "one")
        let next = table.next(in: space, of: ann, clientNonce: "two")
        #expect(first?.clientNonce == "one")
        #expect(next?.clientNonce == "one")
        let plain = ProtectionSpace(origin: origin, realm: "p")
        _ = table.digest(try self.challenge("1"), in: plain, of: ann, answered: nil, staleAnswers: 0, clientNonce: "one")
        #expect(table.next(in: plain, of: ann, clientNonce: "two")?.clientNonce == "two")
    }

    /// Section 3.3; what a server says of other servers is not believed.
    @Test func aDomainSaysWhatIsCovered() throws {
        var table = SpaceTable()
        _ = table.digest(try challenge("1"), in: space, of: ann, answered: nil, staleAnswers: 0, clientNonce: "c")
        table.learn(space, ann, .digest, path: "/x", domain: "/private http://h/more http://other/ //other/")
        for path in ["/private/1", "/more/1"] { #expect(volunteer(&table, path) != nil) }
        for path in ["/", "/x", "/mor"] { #expect(volunteer(&table, path) == nil) }
        #expect(volunteer(&table, "/", at: RequestURL.Origin(scheme: "http", host: "other", port: 80)) == nil)
    }

    @Test func anotherCredentialTakesThePlaceAndAForgottenOneIsGone() {
        var table = SpaceTable()
        let bob = Credential.basic(user: "bob", password: "")
        table.learn(space, ann, .basic, path: "/")
        table.learn(space, bob, .basic, path: "/")
        #expect(table.count == 1)
        #expect(volunteer(&table, "/")?.credential == bob)
        table.forget(space)
        #expect(table.count == 0)
        table.learn(space, ann, .basic, path: "/")
        table.forget(coveredBy: ProtectionSpace(origin: origin, realm: nil, isProxy: true))
        #expect(table.count == 1)
        table.forget(coveredBy: ProtectionSpace(origin: origin, realm: nil))
        #expect(table.count == 0)
        table.learn(space, ann, .basic, path: "/")
        table.forgetAll()
        #expect(volunteer(&table, "/") == nil)
    }

    @Test func aProxyIsOneSpace() {
        var table = SpaceTable()
        #expect(!table.knowsProxies)
        table.learn(ProtectionSpace(origin: origin, realm: "r", isProxy: true), ann, .basic, path: "/x")
        #expect(table.knowsProxies)
        #expect(table.volunteer(origin, isProxy: true, path: "/any", clientNonce: "c")?.credential == ann)
        #expect(volunteer(&table, "/x") == nil)
    }

    @Test func aServerThatMakesUpRealmsDoesNotFillTheMemory() {
        var table = SpaceTable()
        for number in 0..<1000 { table.learn(ProtectionSpace(origin: origin, realm: "\(number)"), ann, .basic, path: "/\(number)/") }
        #expect(table.count == 256)
        #expect(volunteer(&table, "/999/") != nil)
        #expect(volunteer(&table, "/1/") == nil)
        for number in 0..<100 { table.learn(space, ann, .basic, path: "/p\(number)/") }
        #expect(volunteer(&table, "/p99/") != nil)
    }
}
