import ScopedNet
import ScopedNetEndpoints

/// A list that grows as one scrolls. The next page is on its way while this one is read.
@MainActor
final class CataloguePage {
    private let bag = DeallocBag(label: "Catalogue")
    private let client: APIClient<LibraryAPI>
    private var pager: Pager<LibraryAPI, ListBooks>?

    private(set) var books: [Book] = []
    private(set) var isAtEnd = false

    init(client: APIClient<LibraryAPI>) { self.client = client }

    /// Begins at the first page, of whatever environment the service is in.
    func reload() {
        (books, isAtEnd) = ([], false)
        pager = client.pager(of: ListBooks(), prefetching: true, in: bag)
        scrolledToTheEnd()
    }

    func scrolledToTheEnd() {
        guard let pager, !isAtEnd else { return }
        bag.task { [weak self] in
            let page = try? await pager.next()
            self?.show(page)
        }
    }

    private func show(_ page: Page<ListBooks>?) {
        books += page?.elements ?? []
        isAtEnd = page?.isLast ?? true
    }
}
