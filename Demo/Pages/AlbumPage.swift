import Foundation
import ScopedNet
import ScopedNetImages

/// Opens a lot and is closed in the middle of it: downloads and a picture under way, a request waiting to be tried again, pictures not sent yet.
///
/// There is no code here for closing. The bag goes with the page.
@MainActor
final class AlbumPage {
    private let bag = DeallocBag(label: "Album")
    private let session: Session
    private let images: ImageLoader
    private let folder: URL

    private(set) var cover: DecodedImage?
    private(set) var previews: [Int: DecodedImage] = [:]
    private(set) var films: [URL] = []
    private(set) var captions: String?

    init(session: Session, images: ImageLoader, folder: URL) {
        self.session = session
        self.images = images
        self.folder = folder
    }

    func open() {
        session.request("album/index")
            .retry(RetryPolicy(maxAttempts: 5))
            .start(in: bag)

        images.load(ImageRequest("album/cover", size: PixelSize(360, 240), mode: .fill))
            .onSuccess(for: self) { page, cover in page.cover = cover }
            .start(in: bag)

        for number in 1...4 {
            session.download("album/film?part=\(number)", to: folder.appending(path: "film-\(number).bin"))
                .onSuccess(for: self) { page, film in page.films.append(film) }
                .start(in: bag)
        }

        session.request("album/captions", decoder: .text)
            .onSuccess(for: self) { page, captions in page.captions = captions }
            .start(in: bag)
    }

    /// The last connection of the host goes to one preview; the others wait.
    func scroll() {
        for number in 1...3 {
            images.load(ImageRequest("album/preview?n=\(number)", size: PixelSize(180, 120), mode: .fill))
                .onSuccess(for: self) { page, preview in page.previews[number] = preview }
                .start(in: bag)
        }
    }
}
