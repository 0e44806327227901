import Foundation
import ScopedNet

struct Places: Decodable, Sendable {
    let matches: [String]
}

/// Search as you type: each keystroke replaces the request of the one before, so that a slow old answer never overwrites a new one.
@MainActor
final class SearchPage {
    private let bag = DeallocBag(label: "Search")
    private let session: Session

    private(set) var matches: [String] = []
    private(set) var isSearching = false

    init(session: Session) { self.session = session }

    func textChanged(to text: String) {
        var url = URLComponents()
        url.path = "search"
        url.queryItems = [URLQueryItem(name: "q", value: text)]

        isSearching = true
        session.get(url.string ?? "search", as: Places.self)
            .options { options in
                options.repeats = .replaceRunning
                options.repeats.key = "search"
            }
            .onSuccess(for: self) { page, places in page.matches = places.matches }
            .onEnd(for: self) { page, reason in
                // A replaced search is not the end of searching.
                if !reason.isCancelled { page.isSearching = false }
            }
            .start(in: bag)
    }
}
