import ScopedNet
import ScopedNetTesting
import Testing
import XCTest

// The samples of LeakTests.md, word for word (see `DocumentationTests`), and the model of the README they speak of.

private struct Post: Codable, Sendable { let title: String }

@MainActor
private final class FeedModel: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private let session: Session
    private(set) var posts: [Post] = []
    private(set) var message = ""
    private(set) var isLoading = false

    init(session: Session) { self.session = session }

    func load() {
        isLoading = true
        session.get("posts", as: [Post].self).bound(to: self)
            .onSuccess { model, posts in model.posts = posts }
            .onFailure { model, error in model.message = error.localizedDescription }
            .onEnd { model, _ in model.isLoading = false }
            .start()
    }
}

// swift-format-ignore
final class FeedModelLeakTests: LeakCheckedTestCase {
    @MainActor func testTheModelGoes() async {
        let session = MockTransport.session("http://example.test/", unanswered: .wait)
        await expectDeallocates { FeedModel(session: session) } after: { $0.load() }
        await expectScopeCancels { FeedModel(session: session) } after: { $0.load() }
    }
}

// swift-format-ignore
@MainActor @Test(.noLeaks) func theModelGoesAndItsPostsWereThere() async throws {
    let session = MockTransport.session("http://example.test/")
    session.mock.on(.get, "posts", .json("[]"))
    await expectDeallocates { FeedModel(session: session) } after: { $0.load() }
    _ = try await session.get("posts", as: [Post].self).value()
}
