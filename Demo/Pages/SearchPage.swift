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
        isSearching = true
        session.get("search", query: ["q": text], as: Places.self)
            .repeats(.replaceRunning, key: "search")
            .onSuccess(for: self) { page, places in page.matches = places.matches }
            .onEnd(for: self) { page, reason in
                // A replaced search is not the end of searching.
                if !reason.isCancelled { page.isSearching = false }
            }
            .start(in: bag)
    }
}
