import Foundation
import ScopedNet
import ScopedNetImages

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
    private let images: ImageLoader

    private(set) var posts: [Feed.Post] = []
    /// The picture of the first post, large.
    private(set) var banner: DecodedImage?
    private(set) var thumbnails: [Feed.Post.ID: DecodedImage] = [:]
    /// The text in the place of a picture that cannot be shown.
    private(set) var placeholders: [Feed.Post.ID: String] = [:]
    private(set) var message: String?

    init(session: Session, images: ImageLoader) { (self.session, self.images) = (session, images) }

    func open() {
        session.get("feed", as: Feed.self)
            .onSuccess(for: self) { page, feed in page.show(feed.posts) }
            .onFailure(for: self) { page, error in page.message = error.localizedDescription }
            .start(in: bag)
    }

    private func show(_ posts: [Feed.Post]) {
        self.posts = posts
        if let first = posts.first { loadBanner(of: first) }
        for post in posts { loadThumbnail(of: post) }
    }

    /// Another size of a picture that is wanted as a thumbnail, too: its file is fetched once for both.
    private func loadBanner(of post: Feed.Post) {
        images.load(ImageRequest(post.picture, size: PixelSize(360, 240), mode: .fill))
            .onSuccess(for: self) { page, picture in page.banner = picture }
            .start(in: bag)
    }

    private func loadThumbnail(of post: Feed.Post) {
        images.load(ImageRequest(post.picture, size: PixelSize(180, 120), mode: .fill))
            .onSuccess(for: self) { page, picture in page.thumbnails[post.id] = picture }
            .onFailure(for: self) { page, error in page.placeholders[post.id] = error.localizedDescription }
            .start(in: bag)
    }
}
