import Foundation
import HTTPTypes
import ScopedNet

/// A reader of stories, written by a newcomer from the documents alone: its API, its models and its texts. ``FirstUseTests`` runs it.
enum StoriesProgram {
    // MARK: The API

    struct Story: Codable, Sendable, Equatable {
        let id: Int
        let title: String
        let postedAt: Date
        var commentIds: [Int] = []
    }

    struct Comment: Decodable, Sendable, Equatable { let text: String }
    struct Receipt: Decodable, Sendable, Equatable { let photoId: Int }

    /// The server's own words about a request that it does not accept.
    struct Refusal: NetworkError.Document, Equatable {
        let reason: String
        let opensAt: Date?
        var message: String? { reason }
    }

    /// The session of the reader before anyone is logged in. Each of its requests has an identifier, by which the server's log is searched.
    static func session(_ url: String) -> Session {
        let session = Session(url, json: JSONCoding(keys: .snakeCase, dates: .iso8601)).with {
            $0.options.timeouts.idle = .seconds(20)
            $0.headers[.userAgent] = "Reader/1.0"
            $0.errorDocument = Refusal.self
        }
        session.onRequest { $0.headers["X-Request-ID"] = UUID().uuidString }
        return session
    }

    /// A session that sends the token of a login. It is renewed before it expires, and when the server refuses it; `storage` keeps it, and the
    /// refresh token, for the next start of the program.
    static func logIn(_ session: Session, refreshToken: String, storage: TokenSource.Storage? = nil) -> Session {
        struct Grant: Decodable, Sendable {
            let accessToken: String
            let expiresIn: Int
            let refreshToken: String
        }
        let tokens = TokenSource(storage: storage) { old in
            let grant = try await session.post(
                "token", form: ["grant_type": "refresh_token", "refresh_token": old?.refresh ?? refreshToken], as: Grant.self
            ).value()
            return .init(grant.accessToken, expiresIn: .seconds(grant.expiresIn), refresh: grant.refreshToken)
        }
        return session.with { $0.options.authentication = .tokens(tokens, at: $0.baseURL) }
    }

    /// Two sentences for people: the server's own words where it has some, and advice.
    static func text(for error: NetworkError) -> String {
        if error.isOffline { return "You are offline." }
        return [error.serverMessage ?? error.localizedDescription, error.recoverySuggestion].compactMap { $0 }.joined(separator: " ")
    }

    // MARK: The list

    @MainActor
    final class ListModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var stories: [Story] = []
        private(set) var message: String?
        private(set) var opensAt: Date?
        private(set) var isLoading = false

        init(session: Session) { self.session = session }

        func load(page: Int = 1, tag: String? = nil) {
            isLoading = true
            session.get("stories", query: ["page": page, "tag": tag], as: [Story].self)
                .timeout(.seconds(10)).retry(.standard)
                .start(for: self) { model, result in
                    model.isLoading = false
                    switch result {
                    case .success(let stories): model.stories = stories
                    case .failure(let error):
                        model.message = text(for: error)
                        model.opensAt = (error.document as? Refusal)?.opensAt
                    }
                }
        }

        /// A story is submitted once, however often it has to be sent.
        func submit(_ title: String, key: String) {
            session.post("stories", json: ["title": title, "draft": false], as: Story.self)
                .idempotencyKey(key).retry(.standard)
                .bound(to: self)
                .onSuccess { model, story in model.stories.insert(story, at: 0) }
                .onFailure { model, error in model.message = text(for: error) }
                .start()
        }

        func remove(_ story: Story) {
            session.delete("stories/\(story.id)", as: Void.self)
                .start(for: self) { model, result in
                    switch result {
                    case .success: model.stories.removeAll { $0.id == story.id }
                    case .failure(let error): model.message = text(for: error)
                    }
                }
        }
    }

    // MARK: A story and its comments

    @MainActor
    final class PageModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var story: Story?
        private(set) var comments: [Comment] = []
        private(set) var author = ""
        private(set) var message: String?
        var isLoading = false

        init(session: Session) { self.session = session }

        func open(_ id: Int) {
            deallocBag.task(for: self, isRunning: \.isLoading) { [session] in
                let story = try await session.get("stories/\(id)", as: Story.self).value()
                let comments = try await session.values(
                    of: story.commentIds.map { session.get("comments/\($0)", as: Comment.self) }, atMost: 4)
                let author = try await session.get("stories/\(id)/author", as: String.self).value()
                return (story, comments, author)
            } onSuccess: { model, page in
                (model.story, model.comments, model.author) = page
            } onFailure: { model, error in
                model.message = error.localizedDescription
            }
        }
    }

    // MARK: Search as you type

    @MainActor
    final class SearchModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var results: [Story] = []
        private(set) var message: String?

        init(session: Session) { self.session = session }

        /// Called for each letter typed: the search under way is replaced.
        func type(_ text: String, tags: [String] = [], since: Date? = nil, by author: UUID? = nil) {
            session.get("search", query: ["q": text, "limit": 20, "tags": tags, "since": since, "by": author], as: [Story].self)
                .repeats(.replaceRunning, key: "search")
                .bound(to: self)
                .onSuccess { model, stories in model.results = stories }
                .onFailure { model, error in model.message = StoriesProgram.text(for: error) }
                .start()
        }
    }

    // MARK: A photo is sent

    @MainActor
    final class PhotoModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var receipt: Receipt?
        private(set) var fraction = 0.0
        private(set) var message: String?

        init(session: Session) { self.session = session }

        func send(_ photo: URL, title: String) throws {
            var form = MultipartForm()
            form.add(title, name: "title")
            try form.add(file: photo, name: "photo")
            session.upload("photos", from: form, as: Receipt.self)
                .bound(to: self)
                .onUploadProgress { model, progress in model.fraction = progress.fraction ?? 0 }
                .onSuccess { model, receipt in model.receipt = receipt }
                .onFailure { model, error in model.message = StoriesProgram.text(for: error) }
                .start()
        }
    }

    // MARK: An edition is read offline

    @MainActor
    final class EditionModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let download: Request<URL>
        private var run: Run?
        private(set) var fraction = 0.0
        private(set) var file: URL?
        private(set) var message: String?

        init(_ edition: URL, to file: URL, session: Session) {
            download = session.download(edition, to: file).resuming().retry(.standard)
        }

        func goOn() {
            run =
                download.bound(to: self)
                .onDownloadProgress { model, progress in model.fraction = progress.fraction ?? 0 }
                .onResult { model, result in
                    switch result {
                    case .success(let file): model.file = file
                    case .failure(let error): model.message = StoriesProgram.text(for: error)
                    }
                }
                .start()
        }

        func pause() { run?.cancel() }
    }
}
