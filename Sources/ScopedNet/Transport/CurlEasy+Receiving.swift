import CCurl

/// Heads and bodies that come back.
extension CurlEasy {
    func receivedHeader(_ line: UnsafeRawBufferPointer) -> Int {
        loop.preconditionOnNetworkThread()
        clocks.lastActivity = loop.now
        if isOpeningTunnel { return receivedTunnelHeader(line) }
        repeats.heard()
        do throws(ResponseHeadError) {
            switch try parser.receive(line: line) {
            case .statusLine, .field, .trailer, .skipped: break
            case .informational: receivedInterimHead()
            case .headComplete: try receivedHead()
            }
            return hasFailed ? 0 : line.count
        } catch {
            fail(with: self.error(error.code, error.description))
            return 0
        }
    }

    func receivedInterimHead() {
        guard let transfer, let sink, transfer.wantsMilestones else { return }
        sink.transfer(transfer.id, didReach: .informational(parser.makeHead()), batch: loop.batch)
    }

    func receivedHead() throws(ResponseHeadError) {
        clocks.headCompleted = loop.now
        try parser.checkFraming()
        expectCloseNotify()
        // Nobody asked for another protocol, so what follows has no end that could be known (RFC 9110 section 15.2.2).
        if parser.status == 101 { return fail(with: error(.badResponse, "the server switched to another protocol, unasked")) }
        if mayBeAnswered(parser.status) { holdsHead = true } else { reportHead() }
    }

    /// To the sink, which hears of one head alone.
    func reportHead() {
        holdsHead = false
        guard let id, let sink else { return }
        let complete = parser.makeHead()
        body.destination = sink.transfer(id, didReceive: complete, batch: loop.batch)
        head = complete
        body.connect(id, loop.thread)
        // The idle clock takes over, and it may be the shorter one.
        armClocks()
    }

    func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        loop.preconditionOnNetworkThread()
        clocks.lastActivity = loop.now
        // Suspended before there was a connection to pause: libcurl did not hear of it.
        if clocks.isSuspended || holdsDownload() { return SCURL_WRITE_PAUSE }
        // The body of a response that it answers libcurl keeps to itself.
        if holdsHead { reportHead() }
        if body.received == 0, !expectBody() { return 0 }
        switch body.receive(bytes) {
        case .taken: break
        case .written: noteUnflushedBytes()
        case .full:
            clocks.isReadPaused = true
            return SCURL_WRITE_PAUSE
        case .cutShort: return 0
        case .needsWriter(let file):
            if let id { body.makeWriter(of: file, id, loop.thread) }
            return received(bytes)
        case .destinationChosen:
            if let id { body.connect(id, loop.thread) }
            return received(bytes)
        case .failed(let code, let message):
            fail(with: error(code, message))
            return 0
        case .writingFailed(let failure):
            failWriting(failure)
            return 0
        }
        pacer?.download?.took(bytes.count, now: loop.now)
        if let transfer, transfer.wantsProgress, let sink {
            sink.transfer(transfer.id, didReceive: body.received, of: body.expected, batch: loop.batch)
        }
        return bytes.count
    }

    /// What has been read is taken, however slow the disk; only then the transfer is paused, here or between two turns of the loop.
    /// libcurl 7 reads a hundred buffers in a turn where they come fast enough, 10 MiB and more of them.
    private func noteUnflushedBytes() {
        if !body.hasUnflushedBytes {
            body.hasUnflushedBytes = true
            loop.noteUnflushed(self)
        }
        if Capabilities.current.stopsReadingWhenPaused { pauseForDisk() }
    }

    func failWriting(_ error: NetworkError) {
        var failure = error
        failure.runID = transfer?.runID ?? 0
        fail(with: failure)
    }

    /// - Returns: false when the declared length is too much already.
    private func expectBody() -> Bool {
        let length = info.offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        guard length >= 0, case .failed(let code, let message) = body.expect(length) else { return true }
        fail(with: error(code, message))
        return false
    }
}
