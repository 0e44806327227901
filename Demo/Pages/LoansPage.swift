import ScopedNet
import ScopedNetEndpoints

/// Three calls for members at once. A person logs in once; then all three go on.
@MainActor
final class LoansPage {
    private let bag = DeallocBag(label: "Loans")
    private let client: APIClient<LibraryAPI>

    private(set) var loans: [String: [Book]] = [:]
    private(set) var failures = 0

    init(client: APIClient<LibraryAPI>) { self.client = client }

    func open() {
        for shelf in ["novels", "poems", "maps"] {
            client.call(GetLoans(shelf: shelf))
                .onSuccess(for: self) { page, books in page.loans[shelf] = books }
                .onFailure(for: self) { page, _ in page.failures += 1 }
                .start(in: bag)
        }
    }
}
