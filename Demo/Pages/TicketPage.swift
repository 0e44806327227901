import Foundation
import ScopedNet

/// A delegate instead of closures: held weakly, called on the main actor because that is where it was set.
@MainActor
final class TicketPage: @MainActor RequestDelegate {
    private let bag = DeallocBag(label: "Ticket")
    private let session: Session

    private(set) var stages: [String] = []
    private(set) var ticket: Data?

    init(session: Session) { self.session = session }

    func open() {
        session.request("ticket").delegate(self).start(in: bag)
    }

    func requestDidStart(_ run: Run.Info) { stages.append("started") }
    func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { stages.append("head \(head.status)") }

    func request(_ run: Run.Info, didReceive progress: TransferProgress) {
        if stages.last != "progress" { stages.append("progress") }
    }

    func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {
        ticket = value as? Data
        stages.append("succeeded")
    }

    func requestDidEnd(_ run: Run.Info) { stages.append("ended") }
}
