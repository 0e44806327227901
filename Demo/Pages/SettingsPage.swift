import Foundation
import ScopedNet

struct Settings: Decodable, Sendable {
    let units: String
    let revision: Int
}

/// Data that changes slowly: while it is being fetched, asking again is refused. One request object, started again and again.
@MainActor
final class SettingsPage {
    private let bag = DeallocBag(label: "Settings")
    private let request: Request<Settings>

    private(set) var settings: Settings?
    private(set) var refusals = 0

    init(session: Session) {
        request = session.get("settings", as: Settings.self).repeats(.keepRunning)
    }

    func refresh() {
        let start =
            request
            .onSuccess(for: self) { page, settings in page.settings = settings }
            .start(in: bag)
        if start.wasRefused { refusals += 1 }
    }
}
