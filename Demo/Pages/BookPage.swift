import ScopedNet
import ScopedNetEndpoints

/// One book: a batch of calls of different types, then a title that two views share and a person changes.
@MainActor
final class BookPage {
    private let bag = DeallocBag(label: "Book")
    private let client: APIClient<LibraryAPI>
    private let id: Book.ID

    private(set) var reviews: [GetReviews.Review] = []
    private(set) var freeCopies: Int?
    /// Each title that the heading has shown, in order.
    private(set) var headings: [String] = []
    private(set) var windowTitle = ""
    private(set) var message: String?

    init(_ id: Book.ID, client: APIClient<LibraryAPI>) { (self.id, self.client) = (id, client) }

    func open() {
        client.batch(of: GetReviews(book: id), GetCopies(book: id))
            .onSuccess(for: self) { page, values in (page.reviews, page.freeCopies) = (values.0, values.1.free) }
            .start(in: bag)
        // Two observers of one query: the server is asked once.
        client.observe(GetBook(id: id))
            .onChange(for: self) { page, query in page.showHeading(query.value?.title) }
            .start(in: bag)
        client.observe(GetBook(id: id))
            .onChange(for: self) { page, query in page.windowTitle = query.value?.title ?? "" }
            .start(in: bag)
    }

    private func showHeading(_ title: String?) {
        if let title, title != headings.last { headings.append(title) }
    }

    /// Shown at once everywhere; where the server refuses, the old title is back.
    func rename(to title: String) {
        bag.task(for: self) { [client, id] in
            try await client.mutate(RenameBook(id: id, title: title), invalidating: ["books"]) { edits in
                edits.edit(GetBook(id: id)) { book in book.title = title }
            }
        } onSuccess: { _, _ in
        } onFailure: { page, error in
            if case .refused(let reason)? = error as? LibraryAPI.Failure { page.message = reason }
        }
    }
}
