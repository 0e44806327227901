import CCurl

/// The name lookups of a loop's transfers, which libcurl leaves to a thread each.
///
/// libcurl asks before each lookup whether it may begin. One that may not is postponed: its transfer leaves libcurl and begins again when its turn
/// comes. The thread of a lookup cannot be stopped, so a transfer that ends before leaves its handle behind until the thread has ended.
final class TransferLookups {
    /// The state of a transfer's name lookup.
    enum State {
        /// It has none under way.
        case none
        /// A thread asks for the name.
        case running(NameLookups.Ticket)
        /// There are too many of them: libcurl has been told to end the transfer, and the loop begins it again.
        case postponed(host: String)
        /// The transfer has ended and its thread has not. libcurl still has what the request points to.
        case abandoned(NameLookups.Ticket, TransferRequest)

        /// True while the transfer waits for its name.
        var isAwaited: Bool {
            switch self {
            case .running, .postponed: true
            case .none, .abandoned: false
            }
        }
    }

    // Safety of the unchecked accesses: one thread, and libcurl is called with no access open.
    @exclusivity(unchecked) private var limits: NameLookups
    /// Those that have ended before their lookups.
    @exclusivity(unchecked) private(set) var abandoned: [CurlEasy] = []

    init(_ limits: NameLookups) { self.limits = limits }

    /// Called by libcurl before a name is looked up that it does not know yet.
    ///
    /// - Returns: false when the transfer has to wait for others.
    func mayBegin(_ easy: CurlEasy) -> Bool {
        easy.loop.preconditionOnNetworkThread()
        guard let transfer = easy.transfer else { return false }
        guard let host = easy.loop.profile.lookedUpHost(for: transfer.url) else { return true }
        // A transfer that connects anew, its pooled connection being dead.
        ended(easy)
        guard let ticket = limits.begin(host) else {
            easy.lookup = .postponed(host: host)
            return false
        }
        easy.lookup = .running(ticket)
        // libcurl's clock would let go of the thread and forget it: while the name is looked up the clock is the loop's.
        TransferSetup(easy: easy, transfer: transfer).setConnectClock(Int(Int32.max))
        easy.armClocks()
        return true
    }

    /// The name is known, or the transfer has ended with its lookup.
    func ended(_ easy: CurlEasy) {
        guard case .running(let ticket) = easy.lookup else { return }
        easy.lookup = .none
        limits.end(ticket)
        // It counts from the beginning of the transfer.
        if let transfer = easy.transfer {
            TransferSetup(easy: easy, transfer: transfer).setConnectClock(transfer.options.connectMilliseconds)
        }
    }

    // MARK: Waiting

    /// The transfer has left libcurl and waits for its turn.
    func wait(_ id: TransferID, for host: String) { limits.wait(id, for: host) }
    func stopWaiting(_ id: TransferID) { limits.stopWaiting(id) }
    /// The next transfer whose lookup may begin.
    func next() -> TransferID? { limits.isAnyoneWaiting ? limits.next() : nil }
    func networkChanged() { limits.networkChanged() }

    // MARK: Abandoned ones

    /// The transfer has ended before its lookup: what libcurl holds goes on until the thread has ended, and connects to nothing.
    func abandon(_ easy: CurlEasy) {
        guard case .running(let ticket) = easy.lookup, let transfer = easy.transfer else { return }
        easy.end()
        easy.lookup = .abandoned(ticket, transfer)
        easy.options.isDirty = true
        CurlOptions(easy: easy).note(scurl_set_open_callback(easy.handle, CurlCallbacks.refuseOpen))
        abandoned.append(easy)
    }

    /// The thread of an abandoned lookup has ended.
    func endAbandoned(_ easy: CurlEasy, _ ticket: NameLookups.Ticket) {
        limits.end(ticket)
        easy.lookup = .none
        abandoned.removeAll { $0 === easy }
    }

    /// Hands over the handles whose threads go on when the loop has ended.
    func takeAbandoned() -> [CurlEasy] {
        defer { abandoned = [] }
        for easy in abandoned { easy.lookup = .none }
        return abandoned
    }
}
