import Foundation
import ScopedNetTestServer
import Synchronization

/// The library's end: two environments, a catalogue in pages, titles that may be changed, and shelves for those who have logged in.
final class LibraryServer: Sendable {
    private struct State {
        var titles: [Int: String] = [7: "The Sea Wall"]
        var logins = 0
    }

    private let state = Mutex(State())
    private let answer: Duration
    private static let perPage = 6
    private static let pages = 3

    init(answer: Duration) { self.answer = answer }

    var logins: Int { state.withLock(\.logins) }

    func addRoutes(to server: LoopbackServer) {
        for environment in ["staging", "release"] {
            let base = "/library/\(environment)"
            server.on(base + "/books") { [self] request in catalogue(environment, request) }
            server.on(base + "/books/7") { [self] request in book(request) }
            server.on(base + "/books/7/reviews", json(#"[{"author": "Ada", "text": "Calm."}, {"author": "Ben", "text": "Salty."}]"#))
            server.on(base + "/books/7/copies", json(#"{"free": 2}"#))
            server.on(base + "/loans/*") { [self] request in
                guard request["cookie"]?.contains("member=1") == true else { return json(#"{"reason": "log in"}"#, status: 401) }
                return json(#"[{"id": 7, "title": "The Sea Wall"}]"#)
            }
        }
        server.on("/library/login") { [self] _ in
            state.withLock { $0.logins += 1 }
            return ScriptedResponse.status(204).header("Set-Cookie", "member=1; Path=/library").delayed(by: answer * 2)
        }
    }

    private func json(_ text: String, status: Int = 200) -> ScriptedResponse {
        ScriptedResponse.ok(text).header("Content-Type", "application/json").with { $0.status = status }.delayed(by: answer)
    }

    private func catalogue(_ environment: String, _ request: RecordedRequest) -> ScriptedResponse {
        let page = request.query.flatMap { Int($0.dropFirst("page=".count)) } ?? 1
        guard page <= Self.pages else { return json("[]") }
        let ids = (page - 1) * Self.perPage..<page * Self.perPage
        return json("[" + ids.map { #"{"id": \#($0), "title": "Volume \#($0 + 1), \#(environment)"}"# }.joined(separator: ", ") + "]")
    }

    /// GET and PATCH. One title is forbidden.
    private func book(_ request: RecordedRequest) -> ScriptedResponse {
        if request.method == "PATCH" {
            let wanted = try? JSONDecoder().decode([String: String].self, from: Data(request.body))
            guard let title = wanted?["title"], title != "Untitled" else {
                return json(#"{"reason": "a book needs a title"}"#, status: 409)
            }
            state.withLock { $0.titles[7] = title }
            return ScriptedResponse.status(204).delayed(by: answer)
        }
        return json(#"{"id": 7, "title": "\#(state.withLock { $0.titles[7] ?? "" })"}"#)
    }
}
