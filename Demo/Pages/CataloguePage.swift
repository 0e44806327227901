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
    private(set) var message: String?
    private var isLoading = false

    init(client: APIClient<LibraryAPI>) { self.client = client }

    /// Begins at the first page, of whatever environment the service is in.
    func reload() {
        (books, isAtEnd, isLoading, message) = ([], false, false, nil)
        pager = client.pager(of: ListBooks(), prefetching: true, in: bag)
        scrolledToTheEnd()
    }

    func scrolledToTheEnd() {
        // Two that ask at once get the same page.
        guard let pager, !isAtEnd, !isLoading else { return }
        isLoading = true
        bag.task(for: self) {
            try await pager.next()
        } onSuccess: { page, next in
            page.show(next, of: pager)
        } onFailure: { page, error in
            page.fail(error, of: pager)
        }
    }

    /// One that was on its way when the list began anew is not shown.
    private func show(_ page: Page<ListBooks>?, of origin: Pager<LibraryAPI, ListBooks>) {
        guard origin === pager else { return }
        isLoading = false
        books += page?.elements ?? []
        isAtEnd = page?.isLast ?? true
    }

    /// The page stays the next one: the list asks for it again as it is scrolled.
    private func fail(_ error: any Error, of origin: Pager<LibraryAPI, ListBooks>) {
        guard origin === pager else { return }
        isLoading = false
        message = "\(error)"
    }
}
