import Foundation
import ScopedNet

/// Opens a lot and is closed in the middle of it: downloads under way, one waiting to be tried again, some not sent yet.
///
/// There is no code here for closing. The bag goes with the page.
@MainActor
final class AlbumPage {
    private let bag = DeallocBag(label: "Album")
    private let session: Session
    private let folder: URL

    private(set) var films: [URL] = []
    private(set) var captions: String?

    init(session: Session, folder: URL) {
        self.session = session
        self.folder = folder
    }

    func open() {
        session.request("album/index")
            .retry(RetryPolicy(maxAttempts: 5))
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

    /// The last connection of the host goes to the first preview; the others wait.
    func scroll() {
        for number in 1...3 { session.request("album/preview?n=\(number)").start(in: bag) }
    }
}
