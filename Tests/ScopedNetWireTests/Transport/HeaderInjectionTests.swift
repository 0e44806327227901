import CleanSlate
import Foundation
import HTTPTypes
import ScopedNetTestServer
import Testing

@testable import ScopedNet

/// Every door through which a text of the caller's reaches a request head. Whatever is in it, one request goes out, with the lines it was
/// given, or none does.
@Suite(.leavesNothing, .serialized, .timeLimit(.minutes(1)))
struct HeaderInjectionTests {
    private static let attacks = [
        "a\r\nInjected: 1", "a\nInjected: 1", "a\rInjected: 1", "a\r\n\r\nGET /second HTTP/1.1\r\nInjected: 1\r\n\r\n",
        "a\u{0}\r\nInjected: 1",
        "a%0d%0aInjected:%201", "\r\nInjected: 1", "a\u{0B}Injected: 1", "a\u{2028}Injected: 1", "a\u{560D}\u{560A}Injected: 1",
    ]

    private enum Door: String, CaseIterable {
        case sessionField, requestField, userAgent, authorization, cookie, contentType, path, query, userinfo, host, baseURL, location
        case proxyUser, proxyPassword, proxyURL, proxyBypass
    }

    @Test(arguments: attacks)
    func oneRequestOrNone(_ attack: String) async throws {
        for door in Door.allCases {
            let heads = Gathered<String>()
            try await withRawServer(
                { connection, _ in
                    while let head = connection.readHead() {
                        heads.add(head)
                        let isFirst = head.hasPrefix("GET /location")
                        // Our server's line ends are real; the attack's are what is tried.
                        let field = isFirst ? "Location: /\(attack.filter { $0 != "\r\n" && $0 != "\n" })\r\n" : ""
                        connection.send("HTTP/1.1 \(isFirst ? 302 : 200) OK\r\n\(field)Content-Length: 0\r\n\r\n")
                    }
                }, configure: { $0.headers["X-Session"] = door == .sessionField ? attack : "plain" }
            ) { server, session in
                let outcome = await request(through: door, attack, server.port, session).outcome()
                for head in heads.all { check(head, "\(door): \(attack.debugDescription)") }
                #expect(heads.all.count <= (door == .location ? 2 : 1), "\(door)")
                guard case .failure(let error) = outcome else { return }
                #expect(
                    [.invalidURL, .invalidHeader, .invalidOption, .nameNotResolved, .proxyNotResolved, .badResponse, .proxyFailed].contains(
                        error.code), "\(door): \(error)")
                #expect(error.message.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x2028 }, "\(door)")
                // Where the value is a secret, the message names the field and never says it.
                let isSecret = [.sessionField, .requestField, .authorization, .cookie, .userinfo, .proxyUser, .proxyPassword].contains(door)
                #expect(!isSecret || !error.message.contains("njected"), "\(door): \(error)")
            }
        }
    }

    /// Fields given as strings are not repaired but refused, with a word that says which and why.
    @Test(arguments: [
        ("X-Own", "a\r\nInjected: 1", "the value of 'X-Own' holds a carriage return"),
        ("X-Own", "hunter2\n", "the value of 'X-Own' holds a line feed"),
        ("X-Own", "a\u{0}b", "the value of 'X-Own' holds a NUL byte"),
        ("X-Own", "a\u{1B}[31m", "the value of 'X-Own' holds a control character"),
        ("X Own", "a", "'X Own' is no name of a header field"), ("", "a", "'' is no name of a header field"),
        ("X-Own:", "a", "'X-Own:' is no name of a header field"), ("X\r\nInjected", "a", "is no name of a header field"),
    ])
    func stringsAreRefusedByName(_ name: String, _ value: String, _ message: String) async throws {
        try await withWire { wire async throws in
            wire.server.on("/", .ok())
            let request = wire.get().header("X-Good", "1").header(name, value)
            let error = try await request.failure()
            #expect(error.code == .invalidHeader)
            #expect(error.message.contains(message), "\(error)")
            #expect(!error.message.contains("hunter2"))
            #expect(wire.server.requests.isEmpty)
            let ofSession = wire.session.with { $0.headers[.init(name)] = value }
            let refused = try await ofSession.request(wire.url + "/").failure()
            #expect(refused.message == error.message)
            #expect(wire.server.requests.isEmpty)
        }
    }

    @Test func stringsThatAreFieldsAreSent() async throws {
        try await withWire {
            $0.headers["X-Session"] = "s"
        } _: { wire async throws in
            wire.server.on("/", .ok())
            _ = try await wire.get().header("X-Own", "grüße\tan alle").header("x-own", "again").header("X-Empty", "").header(
                "X-Session", "r"
            ).response()
            let request = try await wire.server.takeRequest()
            #expect(request.headers[all: "x-own"] == ["again"])
            #expect(request.headers[all: "x-empty"] == [""])
            #expect(request.headers[all: "x-session"] == ["r"])
        }
    }

    private func request(through door: Door, _ attack: String, _ port: Int, _ session: Session) -> Request<Data> {
        let url = "http://127.0.0.1:\(port)/"
        func proxied(_ proxy: ProxyConfiguration) -> Request<Data> {
            session.with { $0.proxy = proxy }.request("http://elsewhere.test/")
        }
        switch door {
        case .sessionField: return session.request(url)
        case .requestField: return session.request(url, headers: ["X-Own": attack])
        case .userAgent: return session.request(url, headers: [.userAgent: attack])
        case .authorization: return session.request(url, headers: [.authorization: "Bearer \(attack)"])
        case .cookie: return session.request(url, headers: [.cookie: "a=\(attack)"])
        case .contentType: return session.request(url, headers: [.contentType: attack])
        case .path: return session.request(url + attack)
        case .query: return session.request(url + "?q=" + attack)
        case .userinfo: return session.request("http://\(attack):\(attack)@127.0.0.1:\(port)/")
        case .host: return session.with { $0.proxy = .explicit(url: url) }.request("http://\(attack)/")
        case .baseURL: return session.with { $0.baseURL = url + attack + "/" }.request("x")
        case .location: return session.request(url + "location")
        case .proxyUser: return proxied(.explicit(url: url, credentials: .init(user: attack, password: "p")))
        case .proxyPassword: return proxied(.explicit(url: url, credentials: .init(user: "u", password: attack)))
        case .proxyURL: return proxied(.explicit(url: "http://\(attack):p@127.0.0.1:\(port)"))
        case .proxyBypass: return proxied(.explicit(url: url, bypass: [attack]))
        }
    }

    private func check(_ head: String, _ what: String) {
        let lines = head.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
        #expect(lines[0].hasPrefix("GET ") && lines[0].hasSuffix(" HTTP/1.1\r"), "\(what): \(lines[0].debugDescription)")
        #expect(lines[0].count { $0 == " " } == 2, "\(what): \(lines[0].debugDescription)")
        for line in lines.dropFirst() {
            #expect(!line.lowercased().hasPrefix("injected"), "\(what): \(head.debugDescription)")
            #expect(line.isEmpty || line.hasSuffix("\r"), "\(what): a line feed alone")
            #expect(!line.dropLast().utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "\(what): \(line.debugDescription)")
        }
        // Nothing behind the empty line: `readHead` stops there, and the next head begins with a method.
        #expect(lines.suffix(2) == ["\r", ""])
    }

    /// What a server says reaches logs through the error: on one line, and without sequences a terminal obeys.
    @Test(arguments: [
        "HTTP/1.1 404 Not\u{1B}[2J Found\r\n", "HTTP/1.1 \u{1B}[31m200 OK\r\n", "\u{1B}]0;title\u{7}\rnext line\r\n",
        "HTTP/1.1 404 a\rb\r\n",
    ])
    func aServersWordsAreFitForALog(_ line: String) async throws {
        try await withRawServer({ connection, _ in
            guard connection.readHead() != nil else { return }
            connection.send(line + "Content-Length: 0\r\n\r\n")
        }) { server, session in
            let error = try await session.request("http://127.0.0.1:\(server.port)/").failure()
            #expect([.badResponse, .unacceptableStatus].contains(error.code), "\(error)")
            #expect("\(error)".utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "\(error.message.debugDescription)")
        }
    }

    @Test func textsBecomePrintable() {
        #expect("plain ü 日本".printable == "plain ü 日本")
        #expect("a\r\nb\u{1B}[0m\u{85}\u{2028}\u{202E}".printable == #"a\xD\xAb\x1B[0m\x85\x2028\x202E"#)
    }
}
