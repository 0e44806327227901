import CCurl

/// What goes out, and the connection it goes out on.
extension CurlEasy {
    func upload(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        guard let uploadFeed else { return 0 }
        if isSuspended || holdsUpload() { return SCURL_READ_PAUSE }
        let isFirst = !uploadFeed.hasBegun
        let awaitedBodyEnd = awaitsBodyEnd
        awaitsBodyEnd = false
        switch uploadFeed.read(into: buffer) {
        case .bytes(let count):
            lastActivity = loop.now
            pacer?.upload?.took(count, now: loop.now)
            // From the first byte on it is the idle clock's turn, behind the last one the first response byte's.
            if isFirst || uploadFeed.isDone { loop.arm(nextDeadline(now: loop.now)) }
            return count
        case .end: return 0
        case .notYet:
            isWritePaused = true
            return SCURL_READ_PAUSE
        case .notEnded:
            isWritePaused = true
            awaitsBodyEnd = true
            if !awaitedBodyEnd { lastActivity = loop.now }
            loop.arm(nextDeadline(now: loop.now))
            return SCURL_READ_PAUSE
        case .failed(let underlying):
            fail(with: uploadError(underlying, uploadFeed))
            return SCURL_READ_ABORT
        }
    }

    func uploadError(_ underlying: any Error, _ feed: UploadFeed) -> NetworkError {
        if let file = underlying as? PiecewiseFile.Unreadable {
            var error = error(file.error.code, file.error.message, phase: .sending)
            error.underlying = file.error.underlying
            return error
        }
        var error = error(feed.failureCode, feed.failureText(underlying), phase: .sending)
        error.underlying = underlying
        return error
    }

    func seekUpload(to offset: Int64, origin: Int32) -> Bool {
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
        let sent = payload(sent)
        guard let transfer, let sink, transfer.body != nil, sent > uploadReported else { return }
        uploadReported = sent
        lastActivity = loop.now
        sink.transfer(transfer.id, didSend: sent, of: total > 0 ? total : uploadFeed?.length, batch: loop.batch)
    }

    /// libcurl counts chunk sizes as sent, too.
    func payload(_ sent: Int64) -> Int64 {
        guard let uploadFeed, uploadFeed.length == nil else { return sent }
        return min(sent, uploadFeed.offset)
    }

    var uploadReported: Int64 {
        get { uploadFeed?.reported ?? 0 }
        set { uploadFeed?.reported = newValue }
    }

    /// The connection is ready and the request goes out now.
    func connected(_ remote: UnsafePointer<CChar>?, _ remotePort: Int32, _ local: UnsafePointer<CChar>?, _ localPort: Int32) -> Bool {
        guard let transfer, let sink else { return false }
        if transfer.isConnectOnly { return stopAtConnection() }
        requestsSent += 1
        sentAt = loop.now
        if trustCheck != nil {
            deliverTrustReport()
            trustCheck = nil
        }
        let connections = number(CURLINFO_NUM_CONNECTS)
        let decision = repeats.willSend(connections: connections, mayReconnect: transfer.repeatsSilently)
        guard begins(decision) else { return false }
        guard transfer.wantsMilestones else { return true }
        if decision == .reconnect { sink.transfer(transfer.id, didReach: .reconnected, batch: loop.batch) }
        let secured = duration(CURLINFO_APPCONNECT_TIME_T)
        let timings = TransferMetrics.ConnectionTimings(
            nameLookup: duration(CURLINFO_NAMELOOKUP_TIME_T), connect: duration(CURLINFO_CONNECT_TIME_T),
            secured: secured > .zero ? secured : nil,
            remoteAddress: remote.map { String(cString: $0) } ?? "", remotePort: Int(remotePort),
            localAddress: local.map { String(cString: $0) } ?? "", localPort: Int(localPort), isReused: connections == 0)
        sink.transfer(transfer.id, didReach: .connected(timings), batch: loop.batch)
        return true
    }
}
