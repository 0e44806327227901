import Foundation
import ScopedNet

struct Feed: Decodable, Sendable {
    struct Post: Decodable, Sendable, Identifiable {
        let id: String
        let title: String
        let picture: String
    }

    let posts: [Post]
}

/// A list of posts with pictures: one request leads to the next, and all of them end with the page.
@MainActor
final class FeedPage {
    private let bag = DeallocBag(label: "Feed")
    private let session: Session

    private(set) var posts: [Feed.Post] = []
    private(set) var pictures: [Feed.Post.ID: Data] = [:]
    private(set) var message: String?

    init(session: Session) { self.session = session }

    func open() {
        session.get("feed", as: Feed.self)
            .onSuccess(for: self) { page, feed in page.show(feed.posts) }
            .onFailure(for: self) { page, error in page.message = error.localizedDescription }
            .start(in: bag)
    }

    private func show(_ posts: [Feed.Post]) {
        self.posts = posts
        for post in posts {
            session.request(post.picture)
                .onSuccess(for: self) { page, picture in page.pictures[post.id] = picture }
                .start(in: bag)
        }
    }
}
