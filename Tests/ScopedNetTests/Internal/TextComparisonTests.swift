import CleanSlate
import Foundation
import HTTPTypes
import Persistence
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Text from outside is compared by its bytes. `String` takes "é" in one scalar and in two for equal; servers, files and users' passwords do not.
@Suite(.leavesNothing) struct TextComparisonTests {
    private let one = "caf\u{E9}"
    private let other = "cafe\u{301}"

    @Test func realmsAreTwo() throws {
        let spaces = try [one, other].map { try ProtectionSpace("https://a.test/", realm: $0) }
        #expect(spaces[0] != spaces[1] && Set(spaces).count == 2)
        #expect(try spaces[0] == ProtectionSpace("https://a.test/", realm: one))
    }

    /// The one that was refused is not the one that is right.
    @Test func credentialsAreTwo() {
        #expect(Credential.basic(user: "u", password: one) != .basic(user: "u", password: other))
        #expect(Credential.basic(user: one, password: "p") != .basic(user: other, password: "p"))
        #expect(Credential.bearer(one) != .bearer(other))
        #expect(Set([Credential.bearer(one), .bearer(one), .basic(user: one, password: other)]).count == 2)
    }

    @Test func aTokenThatLooksLikeTheRefusedOneIsTried() {
        var state = TokenState(TokenSource.Token(one))
        #expect(state.ask(insteadOf: other, waiter: 1) == .use(TokenSource.Token(one)))
        #expect(state.ask(insteadOf: one, waiter: 1) == .renew(1, refused: TokenSource.Token(one)))
    }

    @Test func aNonceThatLooksLikeTheLastOneIsNew() throws {
        func challenge(_ nonce: String) throws -> DigestChallenge {
            try #require(DigestChallenge.first(in: [#"Digest realm="r", nonce="\#(nonce)", qop="auth", stale=true"#]))
        }
        var exchange = DigestExchange()
        #expect(try exchange.refused(by: challenge(one), answered: nil) == .answer(challenge(one), count: 1))
        #expect(try exchange.refused(by: challenge(other), answered: one) == .answer(challenge(other), count: 1))
        exchange.follow(by: one)
        #expect(exchange.preempt()?.challenge.nonce.utf8.elementsEqual(one.utf8) == true)
    }

    @Test func cookiesAreTwo() throws {
        let jar = CookieJar()
        for name in [one, other] { #expect(try jar.set("\(name)=1; Path=/", for: "http://a.test/")) }
        #expect(jar.cookies(for: "http://a.test/").count == 2)
        let keys = [one, other].map { Cookie.Key(name: "n", domain: "a.test", path: "/" + $0, isHostOnly: true) }
        #expect(Set(keys).count == 2)
    }

    @Test func foldersAreTwo() async {
        let folder = TemporaryFolder()
        let stores = [one, other, one].map { CookieJar.store(StoreConfiguration(directory: "\(folder.path)/\($0)")) }
        #expect(stores[0] !== stores[1] && stores[0] === stores[2])
        for store in stores { await store.close() }
    }

    @Test func locationsThatLookAlikeAreInConflict() throws {
        func head(_ locations: [String]) throws -> ResponseHead {
            var parser = ResponseHeadParser()
            let lines = locations.map { "Location: \($0)\r\n" }.joined()
            _ = try parser.receive(Array("HTTP/1.1 302 Found\r\n\(lines)\r\n".utf8))
            return ResponseHead(parser)
        }
        #expect(try head(["/\(one)", "/\(other)"]).hasConflictingLocations)
        #expect(try !head(["/\(one)", "/\(one)"]).hasConflictingLocations)
    }

    @Test func aPathIsAbsoluteWhateverStandsBehindItsSlash() {
        let request = HTTPRequest(method: .get, scheme: "http", authority: "a.test", path: "/\u{301}x")
        #expect(RequestTarget(request).url.utf8.elementsEqual("http://a.test/\u{301}x".utf8))
    }

    @Test func aPartIsOfItsOwnFile() {
        func record(_ name: String) -> PartRecord { PartRecord(name: name, url: "http://a.test/", finalURL: "http://a.test/", fields: [:]) }
        #expect(!record(one).isOf(record(other)) && record(one).isOf(record(one)))
    }

    @Test func aServersNameIsNoPartOfAnotherDownload() {
        for mark in ["", "%CC%81"] {
            let name = DownloadName.name(contentDisposition: "attachment; filename*=UTF-8''a.scopednet-\(mark)part", url: "http://a.test/")
            #expect(name.utf8.starts(with: "a_scopednet-".utf8), "\(name)")
        }
    }

    @Test func routesOfAMockAreTwo() async throws {
        let mock = MockTransport()
        mock.on("http://a.test/\(one)", .json("1"))
        mock.on("http://a.test/\(other)", .json("2"))
        let session = Session(configuration: .init(customTransport: mock, agent: RequestAgent()))
        let urls = try [one, other].map { try RequestURL("http://a.test/\($0)").string }
        for url in urls { mock.on(url, .json(url == urls[0] ? "1" : "2")) }
        #expect(try await session.send("http://a.test/\(one)").body == Data("1".utf8))
        #expect(try await session.send("http://a.test/\(other)").body == Data("2".utf8))
    }
}
