import FoundationEssentials
import HTTPTypes
import Persistence

/// A stored response becomes the exchange's response.
extension RunCore {
    /// Delivers a stored response. `batch` is that of the network thread; nil elsewhere.
    func serve(_ answer: CachedAnswer, _ use: CacheUse, isValidated: Bool, batch: DeliveryBatch?) {
        // What an attempt has left, should one have come so far.
        drive.file?.discard()
        drive.file = nil
        let isFile = template.destination != nil && isWanted(answer.head)
        let range = wantedRange(of: answer, use)
        guard range != nil || isFile else { return serve(answer, Data(), use, isValidated, batch) }
        let entry = use.found.entries[answer.candidate]
        if let range, let data = entry.body.data, !isFile {
            return serve(answer, data.part(range), use, isValidated, batch)
        }
        if let range, !isFile { return read(answer, range, use, isValidated) }
        enter(.working)
        block(batch) { [self] in
            guard mayGoOn else { return abandonWork() }
            // A response without a body makes an empty file.
            askAndFillFile(answer, range ?? 0..<0, use, isValidated)
        }
    }

    /// Whether its body is what was asked for, and not that of an error or of a redirect that is followed.
    private func isWanted(_ head: CacheHead) -> Bool {
        template.options.validation.accepts(head.status) && !isFollowed(ResponseHead(head))
    }

    /// The bytes to be served; nil when there are none. Of an error no more than its place in the error has room for.
    private func wantedRange(of answer: CachedAnswer, _ use: CacheUse) -> Range<Int64>? {
        guard let range = use.range(of: answer) else { return nil }
        if template.options.validation.accepts(answer.head.status) {
            // As over the network, where no limit is for a body that nobody looks at.
            return decoder.wantsBody || template.destination != nil ? range : nil
        }
        let most = max(0, min(template.errorBodyBytes, template.options.limits.bodyBytes))
        return range.lowerBound..<min(range.upperBound, range.lowerBound + Int64(most))
    }

    private func read(_ answer: CachedAnswer, _ range: Range<Int64>, _ use: CacheUse, _ isValidated: Bool) {
        guard !isTooLarge(range.count) else { return failAsTooLarge(range.count, batch: nil) }
        let entry = use.found.entries[answer.candidate]
        waitForDisk {
            entry.bytes(range)
        } next: { run, data in
            guard let data else { return run.failForDisk() }
            guard let data else { return run.loseEntry(answer.candidate, use) }
            run.serve(answer, data, use, isValidated, nil)
        }
    }

    private func serve(_ answer: CachedAnswer, _ body: Data, _ use: CacheUse, _ isValidated: Bool, _ batch: DeliveryBatch?) {
        guard !isTooLarge(body.count) else { return failAsTooLarge(body.count, batch: batch) }
        serve(answer, body, savedBytes: body.count, use, isValidated, batch)
    }

    private func serve(
        _ answer: CachedAnswer, _ body: Data, savedBytes: Int, _ use: CacheUse, _ isValidated: Bool, _ batch: DeliveryBatch?
    ) {
        if !drive.isRefresh { count(isValidated ? .validation : .hit, in: use.cache, savedBytes: savedBytes) }
        drive.cache = nil
        endLeading()
        var status = answer.status
        status.isCollapsed = drive.isCollapsed
        note(status)
        conclude(TransferResult(head: ResponseHead(answer.head), body: body), source: isValidated ? .validatedCache : .cache, batch: batch)
    }

    private func isTooLarge(_ count: Int) -> Bool { count > template.options.limits.bodyBytes }

    private func failAsTooLarge(_ count: Int, batch: DeliveryBatch?) {
        let message = "the stored body has \(count) bytes, \(template.options.limits.bodyBytes) are allowed"
        fail(NetworkError(.bodyTooLarge, phase: .receiving, message: message, runID: id, attempt: exchange.attempt), batch: batch)
    }

    // MARK: Downloads

    /// The body goes from file to file, as a transfer would have written it: coded as it was stored, and decoded when it is committed.
    private func askAndFillFile(_ answer: CachedAnswer, _ range: Range<Int64>, _ use: CacheUse, _ isValidated: Bool) {
        let head = ResponseHead(answer.head)
        let isAsked = askForFile(head) { run, place in
            run.enter(.working)
            run.block(nil) {
                guard run.mayGoOn else { return run.abandonWork() }
                run.fillFile(place, answer, range, use, isValidated)
            }
        }
        if !isAsked, let place = downloadPlace(head) { fillFile(place, answer, range, use, isValidated) }
    }

    private func fillFile(_ place: DownloadPlace, _ answer: CachedAnswer, _ range: Range<Int64>, _ use: CacheUse, _ isValidated: Bool) {
        let file = FileSink(place)
        switch use.found.entries[answer.candidate].copy(range, to: file, while: { mayGoOn }) {
        case .copied:
            drive.file = file
            enter(.idle)
            serve(answer, Data(), savedBytes: range.count, use, isValidated, nil)
        case .stopped:
            file.discard()
            abandonWork()
        case .lost:
            file.discard()
            loseEntry(answer.candidate, use)
        case .failed(let failure):
            file.discard()
            var error = failure
            error.runID = id
            error.attempt = exchange.attempt
            fail(error, batch: nil)
        }
    }

    /// The body was evicted or damaged since it was found: as if nothing had been.
    private func loseEntry(_ index: Int, _ use: CacheUse) {
        use.cache.store.remove(use.found.entries[index])
        enter(.idle)
        drive.cache = nil
        endLeading()
        enterCache()
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

extension Entry {
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
