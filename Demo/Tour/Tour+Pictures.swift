import Foundation
import ScopedNet
import ScopedNetFoundation
import ScopedNetImages

/// The view of the pages that have pictures: it draws what they hold, and checks how that came.
extension Tour {
    /// Shows the feed: the banner, then a thumbnail for each post.
    func show(_ page: FeedPage) {
        guard let first = page.posts.first else { return }
        show([shown("banner", first.picture, page.banner, of: "Feed")], of: "Feed", columns: 36)
        let thumbnails = page.posts.map { post in
            shown(post.id, post.picture, page.thumbnails[post.id], page.placeholders[post.id] ?? "", of: "Feed")
        }
        show(thumbnails, of: "Feed", columns: 18)
        let transfers = board.traces(of: "Feed").count(where: \.isOfImageLoader)
        board.note("\(thumbnails.count + 1) loads, \(transfers) transfers: the banner and its thumbnail share one")
        board.check("Feed: nine requests for eight posts", page.posts.count == 8 && board.traces(of: "Feed").count == 9)
        board.check("Feed: nine loads took eight transfers", thumbnails.count == 8 && transfers == 8)
        board.check(
            "Feed: six pictures are shown, two SVGs are refused by name",
            page.thumbnails.count == 6 && page.placeholders.values.filter { $0.hasPrefix("image/svg+xml") }.count == 2)
    }

    /// Shows pictures, each in so many columns of the terminal, of which one has ten pixels.
    func show(_ pictures: [ShownPicture], of page: String, columns: Int) {
        board.show(pictures, of: page, columns: columns)
        for picture in pictures {
            guard case .shown(let size, let file) = picture.facts.outcome else { continue }
            let place = PixelSize(columns * 10, columns * 20 / 3)
            board.check(
                "\(page): \(picture.facts.name) is of the file that was sent, and as large as its place", file != nil && size == place)
        }
    }

    /// Gathers the facts about a picture that a page holds, from the trace of its transfer and the file that it had.
    func shown(_ name: String, _ path: String, _ image: DecodedImage?, _ problem: String = "", of page: String) -> ShownPicture {
        let transfers = board.traces(of: page).filter { $0.url == server.baseURL + path }
        let isSecond = board.pictures[page]?.contains { $0.path == path } ?? false
        let source = transfers.isEmpty ? "from memory" : isSecond && transfers.count == 1 ? "by the same transfer" : "from the network"
        let outcome: PictureFacts.Outcome =
            if let image { .shown(PixelSize(image.width, image.height), file(path, transfers.last)) } else { .refused(problem) }
        return ShownPicture(facts: PictureFacts(name: name, path: path, outcome: outcome, source: source), image: image)
    }

    /// The file of a transfer; nil where its length or its format are not those of the file that was sent.
    private func file(_ path: String, _ transfer: RunTrace?) -> PictureFacts.File? {
        guard let transfer, let type = transfer.head?["content-type"], let data = server.picture(at: path, mediaType: type),
            transfer.bytesReceived == data.count, case .header(let header)? = try? ImageHeader.read(data, isComplete: true),
            header.format.mediaType == type
        else { return nil }
        return PictureFacts.File(data: data, header: header)
    }
}
