import Foundation
import ScopedNet

/// Whatever URLs the user names, all in one scope.
@MainActor
final class LinksPage {
    private let bag = DeallocBag(label: "URLs")
    private let session: Session
    private let folder: URL

    private(set) var fetched = 0
    private(set) var problems: [(url: String, error: NetworkError)] = []

    init(session: Session, folder: URL) {
        self.session = session
        self.folder = folder
    }

    func open(_ urls: [String]) {
        for (number, url) in urls.enumerated() {
            session.download(url, to: folder.appending(path: "\(number)"))
                .retry(.standard)
                .options { $0.acceptsCompression = true }
                .onSuccess(for: self) { page, _ in page.fetched += 1 }
                .onFailure(for: self) { page, error in page.problems.append((url, error)) }
                .start(in: bag)
        }
    }
}
