import CleanSlate
import Foundation
import HTTPTypes
import ScopedNet
import ScopedNetTestServer
import Testing

private struct Post: Codable, Sendable { let title: String }

/// The samples of Errors.md, word for word; `DocumentationTests` compares them.
private struct ErrorSamples: Sendable {
    func posts(_ session: Session) async -> String {
        do throws(NetworkError) {
            let posts = try await session.get("posts", as: [Post].self).value()
            return "\(posts.count) posts"
        } catch {
            switch error.code {
            case .cancelled: return ""
            case .unacceptableStatus where error.status == 404: return "no posts yet"
            case _ where error.isOffline: return "no network"
            default: return error.localizedDescription
            }
        }
    }

    func alert(_ error: NetworkError) -> (title: String, hint: String) {
        (error.localizedDescription, error.recoverySuggestion ?? "")
    }

    func speakGerman() {
        NetworkError.wording.descriptions[.nameNotResolved] = "Der Server wurde nicht gefunden."
        NetworkError.wording.suggestions[.nameNotResolved] = "Prüfen Sie die Adresse und die Verbindung."
        NetworkError.wording.serverSays = { "Der Server meldet: \($0)" }
    }

    struct OutOfStock: NetworkError.Document {
        let reason: String
        let left: Int
        var message: String? { "\(reason): \(left) left" }
    }

    func shop(_ session: Session) -> Session { session.with { $0.errorDocument = OutOfStock.self } }

    func buy(_ count: Int, in shop: Session) async -> String {
        do throws(NetworkError) {
            try await shop.post("orders", json: ["count": count], as: Void.self).value()
            return "ordered"
        } catch {
            if let refusal = error.document as? OutOfStock, refusal.left > 0 { return "only \(refusal.left)" }
            return error.serverMessage ?? error.localizedDescription
        }
    }

    func mayAskAgain(_ error: NetworkError) -> Bool {
        error.isServerUnreachable && (error.method == .get || !error.mayHaveReachedServer)
    }

    func logLine(_ error: NetworkError) -> String {
        guard let reason = error.cancelReason else { return "\(error)" }
        return "given up while \(error.phase.rawValue): \(reason)"
    }
}

@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ErrorSampleTests {
    private func visit(_ body: (ErrorSamples, Session, LoopbackServer) async throws -> Void) async throws {
        let server = LoopbackServer()
        try await server.start()
        let session = Session(server.url + "/").with { configuration in
            configuration.agent = RequestAgent()
            configuration.proxy = .none
        }
        do {
            try await body(ErrorSamples(), session, server)
        } catch {
            await session.shutdown()
            await server.stop()
            throw error
        }
        await session.shutdown()
        await server.stop()
    }

    private func failure(_ request: Request<Data>, in bag: DeallocBag? = nil) async throws -> NetworkError {
        let error = await #expect(throws: NetworkError.self) { try await request.value(in: bag) }
        return try #require(error)
    }

    @Test func theCodeDecides() async throws {
        try await visit { samples, session, server in
            server.enqueue(.json(#"[{"title": "One"}]"#), for: "/posts")
            #expect(await samples.posts(session) == "1 posts")
            server.enqueue(.status(404), for: "/posts")
            #expect(await samples.posts(session) == "no posts yet")
            server.enqueue(.status(503), for: "/posts")
            #expect(await samples.posts(session) == "The server has a problem (503).")
        }
    }

    @Test func anErrorHasTitleHintAndFacts() async throws {
        try await visit { samples, session, server in
            server.on("/busy", ScriptedResponse.status(503).header("Retry-After", "5"))
            let error = try await failure(session.get("busy?token=hush"))
            let alert = samples.alert(error)
            #expect(alert.title == "The server has a problem (503)." && alert.hint == "Try again in a little while.")
            #expect(error.method == .get && error.url == server.url + "/busy?token=hush" && error.status == 503)
            #expect(error.headers[.retryAfter] == "5" && error.response?.status == 503 && error.attempt == 1)
            let line = samples.logLine(error)
            #expect(line.hasPrefix("GET \(server.url)/busy?token=***: unacceptableStatus: the server answered 503"), "\(line)")
            // It has answered.
            #expect(!samples.mayAskAgain(error) && !error.isOffline && !error.isServerUnreachable && error.mayHaveReachedServer)
        }
    }

    @Test func theServersOwnWordsAreRead() async throws {
        try await visit { samples, session, server in
            let shop = samples.shop(session)
            server.enqueue(.ok(), for: "/orders")
            #expect(await samples.buy(3, in: shop) == "ordered")
            server.enqueue(.json(#"{"reason": "sold out", "left": 2}"#).with { $0.status = 409 }, for: "/orders")
            #expect(await samples.buy(3, in: shop) == "only 2")
            server.enqueue(.json(#"{"reason": "sold out", "left": 0}"#).with { $0.status = 409 }, for: "/orders")
            #expect(await samples.buy(3, in: shop) == "sold out: 0 left")
            server.enqueue(.status(409), for: "/orders")
            #expect(await samples.buy(3, in: shop) == "Someone else has changed this in the meantime.")
        }
    }

    @Test func aServerThatIsDownIsNoMissingNetwork() async throws {
        try await visit { samples, session, server in
            await server.stop()
            let error = try await failure(session.get("x"))
            #expect(error.code == .connectionRefused && !error.isOffline && error.isServerUnreachable && samples.mayAskAgain(error))
            #expect(samples.alert(error).hint == "Check the port, and that the server is running.")
        }
    }

    @Test func aCancelHasItsPhaseAndReason() async throws {
        try await visit { samples, session, server in
            server.on("/never", ScriptedResponse.ok("never").stalling(.beforeHead))
            let bag = DeallocBag()
            async let outcome = failure(session.get("never"), in: bag)
            try await server.waitForStalls()
            bag.end()
            let error = try await outcome
            #expect(error.isCancelled && error.cancelReason == .ownerReleased && error.phase == .awaitingResponse)
            #expect(samples.logLine(error) == "given up while awaitingResponse: owner released")
            #expect("\(error)" == "GET \(server.url)/never: cancelled while awaitingResponse: owner released")
            #expect(error.asCancellationError is CancellationError)

            // Nothing is given to the network in an ended bag.
            let early = try await failure(session.get("never"), in: bag)
            #expect(early.phase == .queued && !early.mayHaveReachedServer)
        }
    }

    /// The article's table has each code once.
    @Test func thePageListsEveryCode() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        func text(_ path: String) throws -> String { try String(contentsOf: root.appending(path: path), encoding: .utf8) }
        let codes = try text("Sources/ScopedNet/NetworkError+Code.swift").matches(of: /static let (\w+) = Code\(/).map { String($0.1) }
        let page = try text("Sources/ScopedNet/ScopedNet.docc/Errors.md")
        let table = page.components(separatedBy: "## The facts").first ?? ""
        let rows = table.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("`") }
        let listed = rows.flatMap { $0.matches(of: /`(\w+)`/).map { String($0.1) } }
        #expect(codes.count > 50 && listed.sorted() == codes.sorted())
    }
}
