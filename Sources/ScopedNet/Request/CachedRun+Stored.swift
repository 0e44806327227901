import FoundationEssentials
import HTTPTypes
import Persistence

/// A stored response becomes the exchange's response.
extension CachedRun {
    func serve(_ input: inout StepInput) -> RunEvent? {
        guard let stored = input.stored else { return .failed }
        let (answer, use) = (stored.answer, stored.use)
        // An attempt may have left a file.
        downloading.file?.discard()
        downloading.file = nil
        let isFile = template.destination != nil && isWanted(answer.head)
        let range = wantedRange(of: answer, use)
        guard range != nil || isFile else { return serve(stored, Data(), &input) }
        if let range, let data = use.found.entries[answer.candidate].body.data, !isFile { return serve(stored, data.part(range), &input) }
        if let range, !isFile { return read(stored, range, &input) }
        enter(.working)
        block(input.batch) { [self] in
            guard mayGoOn else { return abandonWork() }
            // A response without a body makes an empty file.
            askAndFillFile(stored, range ?? 0..<0)
        }
        return nil
    }

    /// Its body is what was asked for, and not that of an error or of a redirect that is followed.
    private func isWanted(_ head: CacheHead) -> Bool {
        template.options.validation.accepts(head.status) && !isFollowed(ResponseHead(head))
    }

    /// The bytes to be served; nil when there are none. Of an error no more than an error holds.
    private func wantedRange(of answer: CachedAnswer, _ use: CacheUse) -> Range<Int64>? {
        guard let range = use.range(of: answer) else { return nil }
        if template.options.validation.accepts(answer.head.status) {
            // As over the network, where no limit is for a body that nobody looks at.
            return decoder.wantsBody || template.destination != nil ? range : nil
        }
        let most = max(0, min(template.errorBodyBytes, template.options.limits.bodyBytes))
        return range.lowerBound..<min(range.upperBound, range.lowerBound + Int64(most))
    }

    private func read(_ stored: StoredAnswer, _ range: Range<Int64>, _ input: inout StepInput) -> RunEvent? {
        guard range.count <= template.options.limits.bodyBytes else {
            input.batch = .direct
            return tooLarge(range.count, &input)
        }
        let entry = stored.use.found.entries[stored.answer.candidate]
        waitForDisk {
            entry.bytes(range)
        } next: { run, data in
            guard let data else { return run.failForDisk(nil) }
            guard let data else { return run.receive(run.lost(stored)) }
            var input = StepInput()
            run.receive(run.serve(stored, data, &input), input)
        }
        return nil
    }

    private func serve(_ stored: StoredAnswer, _ body: Data, _ input: inout StepInput) -> RunEvent {
        guard body.count <= template.options.limits.bodyBytes else { return tooLarge(body.count, &input) }
        return serve(stored, body, savedBytes: body.count, &input)
    }

    private func serve(_ stored: StoredAnswer, _ body: Data, savedBytes: Int, _ input: inout StepInput) -> RunEvent {
        if !isRefresh { count(stored.isValidated ? .validation : .hit, in: stored.use.cache, savedBytes: savedBytes) }
        caching.transaction = nil
        endLeading()
        var status = stored.answer.status
        status.isCollapsed = caching.isCollapsed
        note(status)
        receiving.source = stored.isValidated ? .validatedCache : .cache
        input.result = TransferResult(head: ResponseHead(stored.answer.head), body: body)
        return .answered
    }

    private func tooLarge(_ count: Int, _ input: inout StepInput) -> RunEvent {
        let message = "the stored body has \(count) bytes, \(template.options.limits.bodyBytes) are allowed"
        return failed(error(.bodyTooLarge, .receiving, message), &input)
    }

    // MARK: Downloads

    /// The body goes from file to file, as a transfer would have written it: coded as it was stored, and decoded when it is committed.
    private func askAndFillFile(_ stored: StoredAnswer, _ range: Range<Int64>) {
        let head = ResponseHead(stored.answer.head)
        let isAsked = askForFile(head) { run, place in
            run.enter(.working)
            run.block(.direct) {
                guard run.mayGoOn else { return run.abandonWork() }
                run.fillFile(place, stored, range)
            }
        }
        if !isAsked, let place = downloadPlace(head) { fillFile(place, stored, range) }
    }

    private func fillFile(_ place: DownloadPlace, _ stored: StoredAnswer, _ range: Range<Int64>) {
        let file = FileSink(place)
        let copied = stored.use.found.entries[stored.answer.candidate].copy(range, to: file, while: { mayGoOn })
        if case .copied = copied { downloading.file = file } else { file.discard() }
        enter(.idle)
        switch copied {
        case .copied:
            var input = StepInput()
            receive(serve(stored, Data(), savedBytes: range.count, &input), input)
        case .stopped: abandonWork()
        case .lost: receive(lost(stored))
        case .failed(let error): fail(numbered(error))
        }
    }

    /// The body was evicted or damaged since it was found: as if nothing had been.
    private func lost(_ stored: StoredAnswer) -> RunEvent {
        stored.use.cache.store.remove(stored.use.found.entries[stored.answer.candidate])
        caching.transaction = nil
        endLeading()
        return .changed(elsewhere: false)
    }

    // MARK: Into the cache

    /// Ends the transaction to the cache of a download whose file is in its place. Blocks for as long as the file's disk does.
    ///
    /// - Returns: what is to be copied; nil for nothing.
    func makeCacheCopy(_ result: TransferResult) -> CacheCopy? {
        guard template.destination != nil, let path = downloading.committed?.destination, let transaction = endTransaction(result)
        else { return nil }
        endLeading()
        // The file holds the decoded bytes, and the server's are what is stored.
        guard result.head?.contentEncoding == nil else { return nil }
        return CacheCopy(transaction, of: path, length: result.metrics.bodyBytesReceived)
    }

    /// Copies on a thread that is neither the download folder's nor the cache's, and goes on: with the copy, or without it where the cache's disk
    /// does not answer.
    func copyToCache(_ input: inout StepInput) -> RunEvent? {
        guard let copy = input.copy else { return toldOfValue() }
        let stage = RunStage.waitingForDisk(TransferID().number)
        wait(stage) {
            watch(copy, copy.progress, stage)
            // Weakly: a run that has ended without the copy is gone, whenever the disk returns.
            BlockingPool.shared.submit(copy.group) { [weak self] in
                copy.run { self?.mayGoOn == true }
                self?.resume(stage) { $0.receive($0.toldOfValue()) }
            }
        }
        return nil
    }

    private func watch(_ copy: CacheCopy, _ last: CacheCopy.Progress, _ stage: RunStage) {
        let left = timeLeft.map { max($0, .milliseconds(100)) }
        let timer = session.timing.schedule(after: min(left ?? copy.patience, copy.patience)) { [self] in
            let progress = copy.progress
            if progress != last, timeLeft != .zero {
                watch(copy, progress, stage)
                return abandonWait(stage)
            }
            guard takeWait(stage) else { return }
            copy.giveUp()
            receive(toldOfValue())
        }
        setWait(timer, .timer, of: stage.number)
    }

    private func toldOfValue() -> RunEvent {
        StepDoor.pass(.decoded, id)
        feed?.push(observed: .decoded, from: self)
        return .done
    }
}

private enum CopyResult {
    case copied
    case stopped
    /// The stored body cannot be read any more.
    case lost
    /// The file cannot be written.
    case failed(NetworkError)
}

extension StoreEntry {
    /// Blocks for as long as the disks do. Memory holds one piece at a time.
    fileprivate func copy(_ range: Range<Int64>, to file: FileSink, while mayGoOn: () -> Bool) -> CopyResult {
        guard !range.isEmpty else { return .copied }
        guard let reader = try? body.makeBoundedReader(), range.upperBound <= Int64(reader.length) else { return .lost }
        var offset = Int(range.lowerBound)
        while offset < range.upperBound {
            guard mayGoOn() else { return .stopped }
            // Up to a multiple of what a read costs least for.
            let end = min(Int(range.upperBound), (offset / Self.piece + 1) * Self.piece)
            guard let piece = try? reader.read(at: offset, upTo: end - offset), piece.count == end - offset else { return .lost }
            do throws(NetworkError) { try file.write(piece) } catch { return .failed(error) }
            offset = end
        }
        return .copied
    }

    private static let piece = 4 * BodyReader.preferredReadSize
}

extension Data {
    fileprivate func part(_ range: Range<Int64>) -> Data {
        count == range.count ? self : dropFirst(Int(range.lowerBound)).prefix(range.count)
    }
}
