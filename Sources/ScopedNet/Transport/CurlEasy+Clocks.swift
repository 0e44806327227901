import CCurl

/// Pauses, and the clocks that they hold.
extension CurlEasy {
    // MARK: Pausing

    /// - Returns: true when libcurl must be run.
    func setSuspended(_ suspended: Bool) -> Bool {
        guard suspended != isSuspended else { return false }
        isSuspended = suspended
        lastActivity = loop.now
        let mustRun = applyPauses()
        // Behind it: what a full stream or the pace holds up has no clock, and goes on with the resume.
        if !suspended { loop.arm(nextDeadline(now: loop.now)) }
        return mustRun
    }

    /// Pauses a transfer whose disk is slower than the network. Called where libcurl keeps nothing back, as it would drop that with a
    /// connection that breaks off: between two turns of the loop, and inside a write callback that takes all of its bytes if
    /// ``Capabilities/stopsReadingWhenPaused``.
    func pauseForDisk() {
        guard !isSuspended, !isReadPaused, fileWriter?.pauses() == true else { return }
        isReadPaused = true
        paused(curl_easy_pause(handle, isWritePaused ? CURLPAUSE_ALL : CURLPAUSE_RECV))
    }

    func unpause() -> Bool {
        if let failure = fileWriter?.failure {
            failWriting(failure)
            return true
        }
        isReadPaused = false
        isWritePaused = false
        // Asked again, the upload says so again.
        awaitsBodyEnd = false
        lastActivity = loop.now
        loop.arm(nextDeadline(now: loop.now))
        return isSuspended ? false : applyPauses()
    }

    func applyPauses() -> Bool {
        if !isSuspended {
            isReadPaused = false
            isWritePaused = false
        }
        paused(curl_easy_pause(handle, isSuspended ? CURLPAUSE_ALL : CURLPAUSE_CONT))
        return true
    }

    /// A pause that failed is the end of the transfer: libcurl tells the caller, and would leave the transfer waiting for ever.
    private func paused(_ code: CURLcode) {
        // Before there is a connection there is nothing to pause; the callbacks see to it.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        // Among what it had kept back was the end of what is read of a body nobody wants.
        guard !isCutShort else { return }
        fail(
            with: error(
                .resources, "libcurl could not pause or go on: \(String(cString: curl_easy_strerror(code)))",
                curl: Int32(bitPattern: code.rawValue)))
    }

    // MARK: Clocks

    /// When this transfer has to be looked at next, if nothing happens.
    func nextDeadline(now: UInt64) -> UInt64 {
        guard let transfer else { return .max }
        let total = min(transfer.deadline ?? .max, nameDeadline)
        if awaitsBodyEnd, head == nil, !isSuspended, let idle = transfer.options.idleNanoseconds {
            return min(total, paceDeadline, lastActivity &+ idle)
        }
        guard !isSuspended, !isReadPaused, !isWritePaused else { return min(total, paceDeadline) }
        guard let limit = currentClock(transfer.options)?.limit else { return total }
        return min(total, lastActivity &+ limit)
    }

    func currentClock(_ options: TransferOptions) -> (code: NetworkError.Code, limit: UInt64)? {
        if head != nil { return options.idleNanoseconds.map { (.idleTimeout, $0) } }
        if let uploadFeed, !uploadFeed.isDone, uploadFeed.hasBegun { return options.idleNanoseconds.map { (.idleTimeout, $0) } }
        return options.firstByteNanoseconds.map { (.firstByteTimeout, $0) }
    }

    func overdue(now: UInt64) -> NetworkError? {
        guard let transfer else { return nil }
        if let deadline = transfer.deadline, deadline <= now {
            return error(.totalTimeout, "the total time of \(transfer.options.timeouts.total ?? .zero) is over")
        }
        if nameDeadline <= now { return overdueName }
        if awaitsBodyEnd, head == nil, let uploadFeed { return overdueEnd(transfer.options, uploadFeed, now: now) }
        guard nextDeadline(now: now) <= now, let clock = currentClock(transfer.options) else { return nil }
        if head == nil {
            // Connecting has its own clock, in libcurl; the first byte's starts when the request can be sent.
            guard requestsSent > 0 else {
                lastActivity = now
                return nil
            }
            if sentAt > lastActivity {
                lastActivity = sentAt
                if lastActivity &+ clock.limit > now { return nil }
            }
        }
        let limit = Duration.nanoseconds(Int64(clamping: clock.limit))
        return error(clock.code, head == nil ? "no response for \(limit)" : "no byte for \(limit)")
    }

    /// A sequence may take its time with its bytes. One that has given all of them and does not end would keep the connection for ever.
    private func overdueEnd(_ options: TransferOptions, _ feed: UploadFeed, now: UInt64) -> NetworkError? {
        guard !isSuspended, let idle = options.idleNanoseconds, lastActivity &+ idle <= now else { return nil }
        return uploadError(UploadFeed.NoEnd(length: feed.length ?? feed.offset), feed)
    }
}
