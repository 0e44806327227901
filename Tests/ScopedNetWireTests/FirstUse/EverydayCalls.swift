import Foundation
import HTTPTypes
import Logging
import ScopedNet

/// The calls of docs/everyday-calls.md, one line each, word for word; `EverydayCallsTests` compares the two and runs these.
struct EverydayCalls: Sendable {
    struct Post: Codable, Sendable, Equatable {
        var id = 0
        let title: String
    }
    struct Receipt: Decodable, Sendable { let size: Int }
    struct Problem: Decodable, Sendable { let detail: String }
    struct Empty: Error {}

    let base: String
    let session: Session
    let id = 7
    let key = "k"
    let text = "sea & sun"
    let author: String? = nil
    let post = Post(title: "One")
    let password = "secret"
    let events = (1...100).map { Post(id: $0, title: "Event \($0)") }

    // MARK: Sessions

    func sessions(_ renew: @escaping @Sendable () async throws -> String, _ logger: Logger) async throws -> [Session] {
        let session = Session(base)
        let reader = Session(baseURL: base, json: JSONCoding(keys: .snakeCase, dates: .iso8601))
        let keyed = session.with { $0.headers["X-Key"] = key }
        let logged = session.with { $0.observers.append(LoggingObserver(logger)) }
        let keeping = session.with { $0.cookies = CookieJar() }
        let tokens = TokenSource { _ in try await renew() }
        let signedIn = session.with { $0.options.authentication = .tokens(tokens, at: base) }
        return [session, reader, keyed, logged, keeping, signedIn]
    }

    func caching(_ ResponseCache: NamedCache) -> Session {
        let cached = session.with { $0.cache = ResponseCache(named: "com.example.reader") }
        return cached
    }

    // MARK: Getting

    func getting(_ url: URL) async throws -> String {
        let posts = try await session.get("posts", as: [Post].self).value()
        let found = try await session.get("search", query: ["q": text, "page": 2, "by": author], as: [Post].self).value()
        let mine = try await session.get("posts", headers: ["X-Key": key], as: [Post].self).value()
        let bytes = try await session.get(url).value()
        let letter = try await session.get("letter", as: String.self).value()
        let response = try await session.get("posts", as: [Post].self).response()
        let both = try await session.values(of: [1, 2].map { session.get("posts/\($0)", as: Post.self) })
        let counts = [posts.count, found.count, mine.count, bytes.count, both.count]
        return "\(counts) \(letter) \(response.status) \(response.headers[.eTag] ?? "-")"
    }

    // MARK: Sending

    func sending(_ photo: URL, _ data: Data) async throws -> [Int] {
        let made = try await session.post("posts", json: post, as: Post.self).value()
        try await session.post("votes", json: ["id": id, "up": true], as: Void.self).value()
        try await session.post("login", form: ["user": "ann", "password": password], as: Void.self).value()
        try await session.put("notes/\(id)", body: .data(data, contentType: "text/plain"), as: Void.self).value()
        try await session.delete("posts/\(id)", as: Void.self).value()
        let sent = try await session.upload("photos", from: photo, as: Receipt.self).value()
        var form = MultipartForm(); try form.add(file: photo, name: "photo")
        let receipt = try await session.upload("forms", from: form, as: Receipt.self).value()
        try await session.post("events", body: .json(events).compressed(), as: Void.self).value()
        return [made.id, sent.size, receipt.size]
    }

    // MARK: Errors, times and repetition

    func failing() async -> [String] {
        do throws(NetworkError) {
            _ = try await session.get("locked").value()
            return []
        } catch {
            let problem = error.decoded(as: Problem.self)
            let message = error.localizedDescription
            return [problem?.detail ?? "", message]
        }
    }

    func options() async throws -> [Int] {
        let quick = try await session.get("posts").timeout(.seconds(5)).value()
        let stubborn = try await session.get("flaky").retry(.standard).value()
        let decided = try await session.get("busy").decideRetry { $0.head?.status == 409 ? .retry(after: .zero) : .asDecided }.value()
        let checked = try await session.get("posts").validate { head, body in if body.isEmpty { throw Empty() } }.value()
        let user = try await session.get("in").options { $0.authentication = .credential(.basic(user: "ann", password: password)) }.value()
        let moved = try await session.get("moved").redirects(.never).validate(.any).response()
        return [quick.count, stubborn.count, decided.count, checked.count, user.count, moved.status]
    }

    // MARK: Files and streams

    func files(_ file: URL) async throws -> Bool {
        let saved = try await session.download("large", to: file).value()
        let resumed = try await session.download("large", to: file).resuming().value()
        for try await line in try await session.stream("log").lines { print(line) }
        return saved == resumed
    }

    // MARK: Figures

    func looking() async throws -> String {
        let request = session.get("posts", as: [Post].self)
        let response = try await request.response()
        let command = request.curlCommand
        let duration = response.duration
        return "\(command) \(duration > .zero)"
    }

    // MARK: View models

    @MainActor
    final class Model: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        let session: Session
        var posts: [Post] = []
        var message = ""
        var fraction = 0.0

        init(session: Session) { self.session = session }

        func show(_ result: Result<[Post], NetworkError>) {
            switch result {
            case .success(let posts): self.posts = posts
            case .failure(let error): message = error.localizedDescription
            }
        }

        func load() {
            session.get("posts", as: [Post].self).start(for: self) { model, result in model.show(result) }
        }

        func search(_ text: String) {
            let search = session.get("search", query: ["q": text], as: [Post].self)
            search.repeats(.replaceRunning, key: "search").start(for: self) { model, result in model.show(result) }
        }

        func save(to file: URL) {
            let download = session.download("large", to: file).bound(to: self)
            download.onDownloadProgress { model, progress in model.fraction = progress.fraction ?? 0 }.start()
        }

        func giveUp() {
            let run = session.get("never").start(for: self)
            run.cancel()
        }

        func close() {
            deallocBag.end()
        }
    }
}
