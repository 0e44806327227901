import CCurl

/// Pauses, and the clocks that they hold.
extension CurlEasy {
    // MARK: Pausing

    /// - Returns: true when libcurl must be run.
    func setSuspended(_ suspended: Bool) -> Bool {
        guard suspended != clocks.isSuspended else { return false }
        clocks.isSuspended = suspended
        clocks.lastActivity = loop.now
        applyPauses()
        // Behind it: what a full stream or the pace holds up has no clock, and goes on with the resume.
        if !suspended { armClocks() }
        return true
    }

    /// Pauses a transfer whose disk is slower than the network. Called where libcurl keeps nothing back, as it would drop that with a
    /// connection that breaks off: between two turns of the loop, and inside a write callback that takes all of its bytes if
    /// ``Capabilities/stopsReadingWhenPaused``.
    func pauseForDisk() {
        guard !clocks.isSuspended, !clocks.isReadPaused, body.fileWriter?.pauses() == true else { return }
        clocks.isReadPaused = true
        paused(curl_easy_pause(handle, clocks.isWritePaused ? CURLPAUSE_ALL : CURLPAUSE_RECV))
    }

    func unpause() -> Bool {
        if let failure = body.fileWriter?.failure {
            failWriting(failure)
            return true
        }
        clocks.endPauses()
        // Asked again, the upload says so again.
        clocks.awaitsBodyEnd = false
        clocks.lastActivity = loop.now
        armClocks()
        if clocks.isSuspended { return false }
        applyPauses()
        return true
    }

    private func applyPauses() {
        if !clocks.isSuspended { clocks.endPauses() }
        paused(curl_easy_pause(handle, clocks.isSuspended ? CURLPAUSE_ALL : CURLPAUSE_CONT))
    }

    /// A pause that failed is the end of the transfer: libcurl tells the caller, and would leave the transfer waiting for ever.
    private func paused(_ code: CURLcode) {
        // Before there is a connection there is nothing to pause; the callbacks see to it.
        guard code != CURLE_OK, code != CURLE_BAD_FUNCTION_ARGUMENT else { return }
        // Among what it had kept back was the end of what is read of a body nobody wants.
        guard !body.isCutShort else { return }
        fail(
            with: error(
                .resources, "libcurl could not pause or go on: \(String(cString: curl_easy_strerror(code)))",
                curl: Int32(bitPattern: code.rawValue)))
    }

    // MARK: Speed

    /// True if the next bytes of the response are too early; the loop then comes back to it.
    func holdsDownload() -> Bool {
        guard let time = pacer?.download?.wait(now: loop.now) else { return false }
        clocks.isReadPaused = true
        clocks.hold(until: time)
        armClocks()
        return true
    }

    /// True if the next bytes of the body are too early.
    func holdsUpload() -> Bool {
        guard let time = pacer?.upload?.wait(now: loop.now) else { return false }
        clocks.isWritePaused = true
        clocks.hold(until: time)
        armClocks()
        return true
    }

    /// Takes the pause of a limit on the speed back when its time has come.
    ///
    /// - Returns: true when libcurl must be run.
    func goesOnInPace(now: UInt64) -> Bool { clocks.endPace(now: now) && unpause() }

    // MARK: Clocks

    private var stage: TransferClocks.Stage {
        TransferClocks.Stage(
            isNameLookedUp: !lookup.isAwaited, isRequestSent: requestsSent > 0,
            isSendingBody: uploadFeed.map { !$0.isDone && $0.hasBegun } ?? false, hasHead: head != nil)
    }

    /// Tells the loop when this transfer has to be looked at next, if nothing happens.
    func armClocks() {
        // Once a channel stands its only clocks are TCP's.
        if let transfer, channel == nil { loop.arm(clocks.nextDeadline(stage, transfer.options, deadline: transfer.deadline)) }
    }

    /// The error of the limit that the transfer has passed.
    func overdue(now: UInt64) -> NetworkError? {
        guard channel == nil, let transfer, let expiry = clocks.expired(now: now, stage, transfer.options, deadline: transfer.deadline)
        else { return nil }
        if expiry == .bodyEnd, let uploadFeed { return uploadError(uploadFeed.noEnd, uploadFeed) }
        let failure = expiry.failure(transfer.options.timeouts, hasHead: head != nil)
        return error(failure.code, failure.message, phase: failure.phase)
    }
}
