import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@_spi(Transport) @testable import ScopedNet

/// What the caller gets wrong, or was given by somebody hostile: named before anything is sent.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HostileInputTests {
    @Test(arguments: [
        "", "http", "http:", "http://", "http:///path", "://host/", "//host/path", "/path", "no scheme", "http://ho st/",
        "http://host:99999/",
        "http://host:-1/", "http://host:port/", "http://[::1/", "http://[nonsense]/", "http://a\nb/", "http://a/\r\nX: y", "http://a/\u{0}",
        "http://a/\u{7F}", "http:// /", "http://exa<mple/",
    ])
    func malformedURLs(_ url: String) async throws {
        try await withSession { session async throws in
            let error = try await session.request(url).failure()
            #expect([.invalidURL, .unsupportedScheme, .nameNotResolved].contains(error.code), "\(url.prefix(40)): \(error)")
            #expect(error.code != .nameNotResolved || !url.contains(where: \.isWhitespace))
            #expect(error.phase <= .resolving)
            #expect(!error.mayHaveReachedServer)
            #expect(error.message.utf8.count < 1_000)
        }
    }

    @Test func aURLWithoutAnEnd() async throws {
        try await withSession { session async throws in
            for url in [String(repeating: "x", count: 9 << 20), "http://host/" + String(repeating: "x", count: 9 << 20)] {
                let error = try await session.request(url).failure()
                #expect(error.code == .invalidURL)
                #expect(error.message.utf8.count < 1_000)
            }
        }
    }

    @Test(arguments: [
        "ftp://host/", "file:///etc/passwd", "gopher://host/", "ws://host/", "mailto:ann@host", "javascript:alert(1)", "htp://host/",
    ])
    func unknownSchemes(_ url: String) async throws {
        try await withSession { session async throws in
            let error = try await session.request(url).failure()
            #expect([.unsupportedScheme, .invalidURL].contains(error.code), "\(error)")
            #expect(error.phase == .preparing)
        }
    }

    @Test func aPasswordInAURLReachesNoMessage() async throws {
        try await withSession { session async throws in
            for url in ["http://ann:hunter2@ho st/", "ftp://ann:hunter2@host/", "http://ann:hunter2@127.0.0.1:1/"] {
                let error = try await session.request(url).failure()
                #expect(!"\(error)".contains("hunter2"))
            }
        }
    }

    /// The field type turns such bytes into spaces; what it lets through is an error. Nothing ever splits a request.
    @Test(arguments: ["a\r\nInjected: 1", "a\nInjected: 1", "a\rInjected: 1", "a\u{0}b", "\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n"])
    func valuesCannotSplitARequest(_ value: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/*", .ok())
            let request = wire.session.request(wire.url + "/", headers: ["X-Value": value])
            if case .failure(let error) = await request.outcome() {
                #expect(error.code == .invalidHeader)
            } else {
                let seen = try await wire.server.takeRequest()
                #expect(seen["injected"] == nil)
                #expect(seen["x-value"]?.utf8.allSatisfy { $0 >= 0x20 } == true)
            }
            #expect(wire.server.requests.count <= 1)
        }
    }

    @Test(arguments: [UInt8(0x01), 0x08, 0x0B, 0x1B, 0x1F, 0x7F])
    func controlCharactersInValues(_ byte: UInt8) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let field = HTTPField(name: HTTPField.Name("X-Value")!, lenientValue: [0x61, byte, 0x62])
            let outcome = await wire.session.request(wire.url + "/", headers: HeaderFields(HTTPFields([field]))).outcome()
            if field.value.utf8.contains(byte) {
                guard case .failure(let error) = outcome else { throw UnexpectedSuccess() }
                #expect(error.code == .invalidHeader)
                #expect(error.message.contains("X-Value") && !error.message.utf8.contains(byte))
                #expect(wire.server.connectionsAccepted == 0)
            }
        }
    }

    @Test func namesThatAreNoTokensDoNotExist() {
        for name in ["", "a b", "a:b", "a\r\nb", "a\u{0}", "ü", "a\nb"] { #expect(HTTPField.Name(name) == nil, "\(name)") }
        for method in ["", "GET /x", "GET\r\n", "G\u{0}T"] { #expect(HTTPRequest.Method(rawValue: method) == nil) }
    }

    @Test func aBlockRefusesWhatAFieldTypeMightLetThrough() {
        let field = HTTPField(name: HTTPField.Name("X")!, lenientValue: [0x61, 0x01])
        #expect(throws: NetworkError.self) { _ = try HeaderBlock(HTTPFields([field])) }
    }

    /// libcurl reads "Name:" as *remove this field* and "Name;" as *send it empty*.
    @Test func emptyValuesNeitherRemoveNorSmuggle() async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            var fields = HTTPFields()
            fields[.accept] = ""
            fields[.userAgent] = "   "
            fields[HTTPField.Name("X-Semicolon")!] = ";"
            fields[HTTPField.Name("X-At")!] = "@/etc/passwd"
            _ = try await wire.session.request(wire.url + "/", headers: HeaderFields(fields)).response()
            let request = try await wire.server.takeRequest()
            #expect(request["accept"] == "")
            #expect(request.headers[all: "user-agent"].count == 1)
            #expect(request["x-semicolon"] == ";")
            #expect(request["x-at"] == "@/etc/passwd")
        }
    }

    /// libcurl would go without the proxy, and what was to be hidden directly.
    @Test(arguments: [
        "http://u:se%00kret@127.0.0.1:1", "http://u%0a@127.0.0.1:1", "socks5h://u:%7F@127.0.0.1:1", "http://u\u{1}:p@127.0.0.1:1",
    ])
    func aProxyWithAControlCharacterIsRefused(_ proxy: String) async throws {
        try await withWire {
            $0.proxy = .explicit(url: proxy)
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .invalidOption && !error.message.contains("kret"), "\(error)")
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    @Test(arguments: [("a:b", "x"), ("a\0b", "x"), ("a", "x\r\ny")])
    func credentialsThatNoProxyCouldReadAreRefused(_ user: String, _ password: String) async throws {
        try await withWire {
            $0.proxy = .explicit(url: "http://127.0.0.1:1", credentials: .init(user: user, password: password))
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .invalidOption && error.phase == .preparing, "\(error)")
        }
    }

    /// In a URL the colon is hidden from the eye, and not from the proxy.
    @Test(arguments: [
        "http://a%3Ab:x@127.0.0.1:1", "https://a%3ab@127.0.0.1:1", "a%3Ab:x@127.0.0.1:1", "HTTP://%3A:x@127.0.0.1:1", "a%3Ab:@127.0.0.1:1",
    ])
    func aUserOfAProxyURLWithAColonIsRefused(_ proxy: String) async throws {
        try await withWire {
            $0.proxy = .explicit(url: proxy)
        } _: { wire async throws in
            let error = try await wire.get().failure()
            #expect(error.code == .invalidOption && error.message.contains("colon"), "\(error)")
            #expect(wire.server.connectionsAccepted == 0)
        }
    }

    /// In the password it is a letter like others, and so it is in all that SOCKS is told.
    @Test(arguments: ["http://a:x%3Ay@127.0.0.1:1", "socks5h://a%3Ab:x@127.0.0.1:1", "http://127.0.0.1:1/a%3Ab"])
    func aColonElsewhereIsNot(_ proxy: String) {
        #expect(throws: Never.self) { try ProxyConfiguration.check(proxy) }
    }

    /// A value libcurl cannot take (more than 8 MB) is an error that names the option: never a trap, never silence.
    @Test func anOptionThatLibcurlRefusesIsAnError() async throws {
        let huge = String(repeating: "x", count: 9_000_000)
        let changes: [(inout Session.Configuration) -> Void] = [
            { $0.connection.unixSocketPath = huge }, { $0.connection.localAddress = huge }, { $0.proxy = .explicit(url: huge) },
            { $0.proxy = .explicit(url: "http://127.0.0.1:1", credentials: .init(user: huge, password: "p")) },
            { $0.proxy = .explicit(url: "http://127.0.0.1:1", bypass: [huge]) },
        ]
        for change in changes {
            try await withWire {
                change(&$0)
            } _: { wire async throws in
                wire.server.on("/", .ok())
                let error = try await wire.get().failure()
                #expect(error.code == .invalidOption, "\(error)")
                #expect(wire.server.connectionsAccepted == 0)
            }
        }
    }
}
