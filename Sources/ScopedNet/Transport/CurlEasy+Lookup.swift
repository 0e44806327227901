import CCurl

/// Name lookups, which libcurl leaves to a thread each.
extension CurlEasy {
    /// The state of a transfer's name lookup.
    enum Lookup {
        /// It has none under way.
        case none
        /// A thread asks for the name.
        case running(NameLookups.Ticket)
        /// There are too many of them: libcurl has been told to end the transfer, and the loop begins it again.
        case postponed(host: String)
        /// The transfer has ended and its thread has not. libcurl still has what the request points to.
        case abandoned(NameLookups.Ticket, TransferRequest)
    }

    /// Called by libcurl before a name is looked up that it does not know yet.
    ///
    /// - Returns: false when the transfer has to wait for others.
    func lookupMayBegin() -> Bool {
        guard let transfer else { return false }
        guard let host = loop.profile.lookedUpHost(for: transfer.url) else { return true }
        // A transfer that connects anew, its pooled connection being dead.
        lookupEnded()
        guard let ticket = loop.lookups.begin(host) else {
            lookup = .postponed(host: host)
            return false
        }
        lookup = .running(ticket)
        // libcurl's clock would let go of the thread and forget it: while the name is looked up the clock is the loop's.
        setConnectClock(Int(Int32.max))
        loop.arm(nextDeadline(now: loop.now))
        return true
    }

    /// The name is known, or the transfer has ended with its lookup.
    func lookupEnded() {
        guard case .running(let ticket) = lookup else { return }
        lookup = .none
        loop.lookups.end(ticket)
        // It counts from the beginning of the transfer.
        if let transfer { setConnectClock(transfer.options.connectMilliseconds) }
    }

    /// The transfer has ended before its lookup: what libcurl holds goes on until the thread has ended, and connects to nothing.
    func abandonLookup() {
        guard case .running(let ticket) = lookup, let transfer else { return }
        end()
        lookup = .abandoned(ticket, transfer)
        isDirty = true
        CurlOptions(easy: self).note(scurl_set_open_callback(handle, CurlCallbacks.refuseOpen))
    }

    /// The connect clock runs here and not in libcurl: no connection is being made yet.
    var awaitsName: Bool {
        switch lookup {
        case .running, .postponed: true
        case .none, .abandoned: false
        }
    }

    /// When it is over without a name; `.max` without a limit.
    var nameDeadline: UInt64 {
        guard let transfer, awaitsName, let connect = transfer.options.timeouts.connect else { return .max }
        return began &+ connect.nanoseconds
    }

    var overdueName: NetworkError? {
        guard let transfer, let connect = transfer.options.timeouts.connect else { return nil }
        return error(.connectTimeout, "no connection within \(connect): its name is still being looked up", phase: .resolving)
    }

    private func setConnectClock(_ milliseconds: Int) {
        guard connectMilliseconds != milliseconds else { return }
        connectMilliseconds = milliseconds
        CurlOptions(easy: self).set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds)
    }
}
