import Foundation
import ScopedNet

/// A server in trouble: what passes is tried again as the server asks, what does not is shown to the user.
@MainActor
final class StatusPage {
    /// What the service says when it refuses (RFC 9457).
    struct Problem: Decodable, Sendable {
        let title: String
        let detail: String
    }

    private let bag = DeallocBag(label: "Status")
    private let session: Session

    private(set) var status: String?
    private(set) var problem: Problem?

    init(session: Session) { self.session = session }

    func open() {
        session.request("status", decoder: .text)
            .retry(RetryPolicy(maxAttempts: 3))
            .onSuccess(for: self) { page, status in page.status = status }
            .start(in: bag)

        session.get("incidents/404", as: [String].self)
            .onFailure(for: self) { page, error in page.problem = error.decoded(as: Problem.self) }
            .start(in: bag)
    }
}
