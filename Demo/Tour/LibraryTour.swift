import ScopedNet
import ScopedNetEndpoints
import ScopedNetFoundation

/// The pages that speak to their server through endpoints.
@MainActor
struct LibraryTour {
    private let tour: Tour
    private let client: APIClient<LibraryAPI>
    private var board: Board { tour.board }

    init(_ tour: Tour) {
        self.tour = tour
        let session = tour.session
        let login = LoginSource {
            // Here a program would show its page with a password.
            _ = try await session.post("library/login", form: ["name": "ada"]).response()
        }
        client = APIClient(LibraryAPI(root: tour.server.baseURL, login: login), session: session)
    }

    func run() async throws {
        try await catalogue()
        try await book()
        try await loans()
    }

    private func catalogue() async throws {
        try await tour.visit("Catalogue", "endpoints: a list in pages, the next one prefetched; then another environment") {
            CataloguePage(client: client)
        } use: { page in
            page.reload()
            try await tour.until("the first page is shown") { page.books.count == 6 }
            page.scrolledToTheEnd()
            try await tour.until("the second page is shown") { page.books.count == 12 }
            board.check("Catalogue: two pages of staging", page.books.allSatisfy { $0.title.hasSuffix("staging") })
            client.service.environment = .release
            page.reload()
            try await tour.until("the first page of the release is shown") { page.books.count == 6 }
            board.check("Catalogue: now of the release", page.books.allSatisfy { $0.title.hasSuffix("release") })
            for count in [12, 18] {
                page.scrolledToTheEnd()
                try await tour.until("\(count) books are shown") { page.books.count == count }
            }
            page.scrolledToTheEnd()
            try await tour.until("the list has ended") { page.isAtEnd }
            board.check("Catalogue: each book once", page.books.map(\.id) == Array(0..<18) && page.message == nil)
        }
    }

    private func book() async throws {
        try await tour.visit("Book", "a batch of two calls; a query that two views share, edited before the server agrees") {
            BookPage(7, client: client)
        } use: { page in
            page.open()
            try await tour.until("the book is shown") {
                page.reviews.count == 2 && page.freeCopies == 2 && page.windowTitle == "The Sea Wall"
            }
            page.rename(to: "Untitled")
            try await tour.until("the edit is taken back") { page.message != nil && page.headings.count == 3 }
            board.note("refused: \(page.message ?? "")")
            page.rename(to: "The Sea Wall, revised")
            try await tour.until("the edit is shown") { page.headings.count == 4 }
            try await board.until("the book was asked for again") { traces in
                traces.count { $0.url.hasSuffix("books/7") && $0.isOver } == 4
            }
            try await tour.until("both views agree") { page.windowTitle == "The Sea Wall, revised" }
            board.check(
                "Book: edits show at once, and a refused one is taken back",
                page.headings == ["The Sea Wall", "Untitled", "The Sea Wall", "The Sea Wall, revised"])
        }
    }

    private func loans() async throws {
        try await tour.visit("Loans", "three calls meet a login; one login, and all three go on") {
            LoansPage(client: client)
        } use: { page in
            page.open()
            try await tour.until("the shelves are shown") { page.loans.count == 3 }
            board.check("Loans: one login for three calls", tour.server.library.logins == 1 && page.failures == 0)
        }
    }
}
