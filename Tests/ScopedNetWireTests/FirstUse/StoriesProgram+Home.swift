import Foundation
import ScopedNet

/// More of the reader of stories: its first page, and what it prints on a command line.
extension StoriesProgram {
    // MARK: The first page

    struct Account: Decodable, Sendable, Equatable { let name: String }

    @MainActor
    final class HomeModel: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private let session: Session
        private(set) var account: Account?
        private(set) var stories: [Story] = []
        private(set) var greeting = ""
        private(set) var message: String?
        var isLoading = false

        init(session: Session) { self.session = session }

        /// Asks for three things at once, which belong together: all are shown, or none.
        func open() {
            deallocBag.task(for: self, isRunning: \.isLoading) { [session] in
                try await session.values(
                    of: session.get("me", as: Account.self), session.get("stories", as: [Story].self),
                    session.get("greeting", as: String.self))
            } onSuccess: { model, home in
                (model.account, model.stories, model.greeting) = home
            } onFailure: { model, error in
                model.message = error.localizedDescription
            }
        }
    }

    // MARK: The command line

    /// Saves an edition, and shows how far it is.
    static func save(
        _ edition: URL, to file: URL, with session: Session, show: (Run.Progress) -> Void
    ) async throws(NetworkError) -> URL? {
        let download = session.download(edition, to: file)
        for try await progress in download.progress { show(progress) }
        return try download.result?.get().value
    }

    /// Sends a request, and returns what happened, a line for each event that a person cares about.
    static func trace(_ request: Request<some Sendable>) async -> [String] {
        var lines: [String] = []
        for await event in request.events {
            switch event.kind {
            case .started(let attempt): lines.append("attempt \(attempt)")
            case .headReceived(let head): lines.append("status \(head.status)")
            case .retryDecided(_, after: .some): lines.append("once more")
            case .finished(let completion): lines.append(completion.error.map { "\($0.code)" } ?? "\(completion.bodyBytes) bytes")
            default: break
            }
        }
        return lines
    }
}
