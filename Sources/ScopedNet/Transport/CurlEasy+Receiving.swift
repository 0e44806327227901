import CCurl

/// What comes back: heads and bodies.
extension CurlEasy {
    func receivedHeader(_ line: UnsafeRawBufferPointer) -> Int {
        lastActivity = loop.now
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
            switch error {
            case .headTooLarge, .tooManyFields, .tooManyInterimHeads: fail(with: self.error(.headersTooLarge, error.description))
            case .malformedStatusLine, .malformedContentLength, .conflictingContentLength, .ambiguousFraming:
                fail(with: self.error(.badResponse, error.description))
            }
            return 0
        }
    }

    func receivedInterimHead() {
        guard let transfer, let sink, transfer.wantsMilestones else { return }
        sink.transfer(transfer.id, didReach: .informational(parser.makeHead()), batch: loop.batch)
    }

    func receivedHead() throws(ResponseHeadError) {
        headCompleted = loop.now
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
        destination = sink.transfer(id, didReceive: complete, batch: loop.batch)
        head = complete
        connectStream()
        // The idle clock takes over, and it may be the shorter one.
        loop.arm(nextDeadline(now: loop.now))
    }

    func connectStream() {
        guard let id else { return }
        let thread = loop.thread
        if case .held(let held) = destination { return held.connect { thread.post(.unpause(id)) } }
        guard case .stream(let stream) = destination else { return }
        stream.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.cancel(id)) })
    }

    func received(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = loop.now
        // Suspended before there was a connection to pause: libcurl did not hear of it.
        if isSuspended || holdsDownload() { return SCURL_WRITE_PAUSE }
        // The body of a response that it answers libcurl keeps to itself.
        if holdsHead { reportHead() }
        if received == 0, !expectBody() { return 0 }
        switch destination {
        case .memory(let limit):
            guard body.count + bytes.count <= limit else {
                fail(with: error(.bodyTooLarge, "the response body exceeds \(limit) bytes"))
                return 0
            }
            guard body.append(bytes) else { return refuseForMemory() }
        case .memoryPrefix(let limit, let isWanted):
            let room = max(0, limit - body.count)
            guard room == 0 || body.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(room))) else { return refuseForMemory() }
            if !isWanted, received + Int64(bytes.count) - Int64(limit) > Self.mostDropped { return cutShort(bytes.count) }
        case .file(let file):
            guard write(bytes, to: file) else { return 0 }
        case .stream(let stream):
            guard fits(received + Int64(bytes.count)) else { return 0 }
            if stream.offer(bytes) == .pause {
                isReadPaused = true
                return SCURL_WRITE_PAUSE
            }
        case .held(let held):
            guard let place = held.destination() else {
                isReadPaused = true
                return SCURL_WRITE_PAUSE
            }
            destination = place
            connectStream()
            return self.received(bytes)
        }
        received += Int64(bytes.count)
        pacer?.download?.took(bytes.count, now: loop.now)
        if let transfer, transfer.wantsProgress, let sink {
            sink.transfer(transfer.id, didReceive: received, of: expected, batch: loop.batch)
        }
        return bytes.count
    }

    /// What has been read is taken, however slow the disk; only then the transfer is paused, here or between two turns of the loop.
    /// libcurl 7 reads a hundred buffers in a turn where they come fast enough, 10 MiB and more of them.
    ///
    /// - Returns: false when the transfer has to end.
    private func write(_ bytes: UnsafeRawBufferPointer, to file: FileSink) -> Bool {
        let writer = fileWriter ?? makeFileWriter(file)
        guard fits(writer.start + received + Int64(bytes.count)) else { return false }
        if let failure = file.refusal ?? writer.failure {
            failWriting(failure)
            return false
        }
        if !hasUnflushedBytes {
            hasUnflushedBytes = true
            loop.noteUnflushed(self)
        }
        writer.take(bytes, left: expected.map { $0 - received })
        if Capabilities.current.stopsReadingWhenPaused { pauseForDisk() }
        return true
    }

    private func makeFileWriter(_ file: FileSink) -> FileWriter {
        let thread = loop.thread
        let writer = FileWriter(file, group: BlockingPool.Group(folderOf: file.destination)) { [id] in
            if let id { thread.post(.unpause(id)) }
        }
        fileWriter = writer
        return writer
    }

    func failWriting(_ error: NetworkError) {
        var failure = error
        failure.runID = transfer?.runID ?? 0
        fail(with: failure)
    }

    /// To read a body to its end costs less than a new connection, up to here.
    private static var mostDropped: Int64 { 1 << 20 }

    /// - Returns: what tells libcurl to stop; the response counts as complete.
    private func cutShort(_ count: Int) -> Int {
        received += Int64(count)
        isCutShort = true
        return 0
    }

    private func fits(_ count: Int64) -> Bool {
        guard let most = transfer?.options.maxDownloadBytes, count > most else { return true }
        fail(with: error(.bodyTooLarge, "the response body exceeds \(most) bytes"))
        return false
    }

    /// - Returns: what tells libcurl to stop.
    private func refuseForMemory() -> Int {
        fail(with: error(.resources, "no memory for more than \(body.count) bytes of the response body"))
        return 0
    }

    /// - Returns: false when the declared length is too much already.
    func expectBody() -> Bool {
        let length = offset(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        guard length >= 0 else { return true }
        expected = length
        switch destination {
        case .file(let file): return fits(file.count + length)
        case .stream: return fits(length)
        case .memory, .memoryPrefix, .held: break
        }
        guard case .memory(let limit) = destination else { return true }
        guard length <= limit else {
            fail(with: error(.bodyTooLarge, "the response body has \(length) bytes, more than \(limit)"))
            return false
        }
        body.reserve(Int(length))
        return true
    }
}
