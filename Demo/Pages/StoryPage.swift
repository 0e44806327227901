import Foundation
import ScopedNet

struct Story: Decodable, Sendable {
    struct Comment: Decodable, Sendable {
        let author: String
        let text: String
    }

    let title: String
    let comments: [Comment]
}

/// The same life cycle with async/await: a task in the bag, and a scope that is as long as a function.
@MainActor
final class StoryPage {
    private let bag = DeallocBag(label: "Story")
    private let session: Session

    private(set) var story: Story?
    private(set) var translation: String?
    private(set) var picture: Data?

    init(session: Session) { self.session = session }

    func open() {
        // The steps capture the session alone, and the closure is handed the page: when that goes, its bag cancels the task and so the request.
        bag.task(for: self) { [session] in
            try await session.get("story", as: Story.self).value()
        } onSuccess: { page, story in
            page.story = story
        }
    }

    /// Never comes back: the page is closed first.
    func translate() {
        bag.task(for: self) { [session] in
            try await session.get("story/translation", as: String.self).value()
        } onSuccess: { page, translation in
            page.translation = translation
        }
    }

    /// Two mirrors have the picture. The scope ends with the function, and takes the slower one with it.
    func loadPicture() async throws {
        picture = try await withRequestScope(label: "Mirrors") { scope in
            session.get("mirrors/far/cliffs.svg").start(in: scope)
            return try await session.get("mirrors/near/cliffs.svg").value(in: scope.bag)
        }
    }
}
