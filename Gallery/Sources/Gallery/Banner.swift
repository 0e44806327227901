import CGalleryGTK

/// The line below the header that says why photos may not come.
@MainActor final class Banner {
    /// The reason for which photos may not come.
    private enum Reason: String {
        case network, server

        var text: String {
            switch self {
            case .network: "You are offline. Photos that were seen before are still here."
            case .server: "The server cannot be reached. Photos that were seen before are still here."
            }
        }
    }

    let widget = made(gtk_revealer_new())
    /// False where there is no way to the server.
    var hasNetwork = true { didSet { update() } }
    /// False where the server did not answer the last time.
    var hasServer = true { didSet { update() } }
    private let label = made(gtk_label_new(""))
    private let report: Report
    private var reason: Reason?

    init(_ report: Report) {
        self.report = report
        style(label, "banner")
        gtk_revealer_set_child(OpaquePointer(widget), label.widget)
    }

    private func update() {
        let reason: Reason? = !hasNetwork ? .network : hasServer ? nil : .server
        guard reason != self.reason else { return }
        self.reason = reason
        if let reason { gtk_label_set_text(OpaquePointer(label), reason.text) }
        gtk_revealer_set_reveal_child(OpaquePointer(widget), reason == nil ? 0 : 1)
        report.say("banner \(reason?.rawValue ?? "hidden")")
    }
}
