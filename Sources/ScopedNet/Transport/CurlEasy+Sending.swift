import CCurl

/// The body that goes out, and the connection it goes out on.
extension CurlEasy {
    func upload(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        loop.preconditionOnNetworkThread()
        guard let uploadFeed else { return 0 }
        if clocks.isSuspended || holdsUpload() { return SCURL_READ_PAUSE }
        let isFirst = !uploadFeed.hasBegun
        let awaitedBodyEnd = clocks.awaitsBodyEnd
        clocks.awaitsBodyEnd = false
        switch uploadFeed.read(into: buffer) {
        case .bytes(let count):
            clocks.lastActivity = loop.now
            pacer?.upload?.took(count, now: loop.now)
            // From the first byte on it is the idle clock's turn, behind the last one the first response byte's.
            if isFirst || uploadFeed.isDone { armClocks() }
            return count
        case .end: return 0
        case .notYet:
            clocks.isWritePaused = true
            return SCURL_READ_PAUSE
        case .notEnded:
            clocks.isWritePaused = true
            clocks.awaitsBodyEnd = true
            if !awaitedBodyEnd { clocks.lastActivity = loop.now }
            armClocks()
            return SCURL_READ_PAUSE
        case .failed(let underlying):
            fail(with: uploadError(underlying, uploadFeed))
            return SCURL_READ_ABORT
        }
    }

    func uploadError(_ underlying: any Error, _ feed: UploadFeed) -> NetworkError {
        let failure = feed.failure(underlying)
        var error = error(failure.code, failure.message, phase: .sending)
        error.underlying = failure.underlying
        return error
    }

    func seekUpload(to offset: Int64, origin: Int32) -> Bool {
        loop.preconditionOnNetworkThread()
        if origin == 0, uploadFeed?.rewind(to: offset) == true { return true }
        // libcurl wants to send the request again.
        guard repeats.isAnswering else {
            fail(
                with: error(
                    .connectionLost, "the pooled connection was closed by the server, and the body can be read once only",
                    phase: .sending))
            return false
        }
        let message = "the request has to be sent again after status \(parser.status), and its body can be read once"
        fail(with: error(.bodyNotReplayable, message, phase: .sending))
        return false
    }

    func uploaded(_ sent: Int64, of total: Int64) {
        loop.preconditionOnNetworkThread()
        guard let transfer, let sink, let uploadFeed, let sent = uploadFeed.progress(sent) else { return }
        clocks.lastActivity = loop.now
        sink.transfer(transfer.id, didSend: sent, of: total > 0 ? total : uploadFeed.length, batch: loop.batch)
    }

    /// The connection is ready and the request goes out now.
    func connected(_ remote: UnsafePointer<CChar>?, _ remotePort: Int32, _ local: UnsafePointer<CChar>?, _ localPort: Int32) -> Bool {
        loop.preconditionOnNetworkThread()
        guard let transfer, let sink else { return false }
        if transfer.isConnectOnly { return stopAtConnection() }
        requestsSent += 1
        clocks.sentAt = loop.now
        deliver(trust.connected())
        let decision = repeats.willSend(connections: info.connections, mayReconnect: transfer.repeatsSilently)
        guard begins(decision) else { return false }
        guard transfer.wantsMilestones else { return true }
        if decision == .reconnect { sink.transfer(transfer.id, didReach: .reconnected, batch: loop.batch) }
        let timings = info.connectionTimings(remote: remote, remotePort, local: local, localPort)
        sink.transfer(transfer.id, didReach: .connected(timings), batch: loop.batch)
        return true
    }
}
