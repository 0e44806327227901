import FoundationEssentials
import Glibc
import HTTPTypes

/// Downloads: the target, which one run at a time may have, and the part that an earlier run has left of it.
///
/// All of it blocks for as long as the disk does, and happens on the blocking pool. With a head the network thread only decides: the file's
/// writer does it before the first byte (``FileSink``), or the pool at the end of the exchange.
extension RunCore {
    // MARK: The target

    /// Before the first exchange.
    func claimTarget() {
        waitForDisk { [self] in
            StepDoor.pass(.targetAsked, id)
            return Result { () throws(NetworkError) in try openTarget() }
        } next: { run, opened in
            guard let opened else { return run.failForDisk() }
            run.take(opened)
        } late: { opened in
            // The run has ended, and could not let go of what it had not got.
            if case .success(.granted(let claim, _)) = opened { claim.end() }
        }
    }

    private enum OpenedTarget: Sendable {
        /// Known with the response.
        case later
        case leaving(DownloadClaim)
        case granted(DownloadClaim, keepsPart: Bool)
    }

    private func take(_ opened: Result<OpenedTarget, NetworkError>) {
        do throws(NetworkError) {
            let asksForRange = template.fields.contains(.range)
            switch try opened.get() {
            case .leaving(let claim): return wait(for: claim)
            case .later: drive.download = DownloadState(claim: nil, keepsPart: false, asksForRange: asksForRange)
            case .granted(let claim, let keepsPart):
                let download = DownloadState(claim: claim, keepsPart: keepsPart, asksForRange: asksForRange)
                drive.download = download
                if keepsPart { try askForRest(download) }
            }
        } catch { return fail(numbered(error), batch: nil) }
        StepDoor.pass(.targetClaimed, id)
        guard mayGoOn else { return abandonWork() }
        beginExchanges(nil)
    }

    private func openTarget() throws(NetworkError) -> OpenedTarget {
        guard mayGoOn, !choosesTarget, let names = template.destination.flatMap({ PartNames(target: $0) }),
            let target = DownloadTarget(names)
        else { return .later }
        let answer = DownloadClaims.shared.claim(target, DownloadPart(names), run: id) { [weak self] in self?.mayGoOn != true }
        switch answer {
        case .taken: throw .targetInUse(names.target)
        case .leaving(let claim): return .leaving(claim)
        case .granted(let claim):
            guard template.options.downloads.resumes && mayResume else { return .granted(claim, keepsPart: false) }
            do throws(NetworkError) {
                try FileSink.checkDestination(names.target)
                try claim.use { (part: DownloadPart) throws(NetworkError) in try part.open() }
            } catch {
                claim.end()
                throw error
            }
            return .granted(claim, keepsPart: true)
        }
    }

    /// Where the file goes is known with the response: in a folder by its name, or where the program says. Nobody else can have it before.
    private var choosesTarget: Bool {
        if hook({ $0.destination }) != nil { return true }
        var status = stat()
        guard let path = template.destination, stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// A cancelled run has the target, but not for long: it is the next one's as soon as its file is closed.
    private func wait(for claim: DownloadClaim) {
        ask({ await claim.closed() }, next: { run, _ in run.claimTarget() })
    }

    /// Whether the request leaves it to the library which bytes it asks for.
    private var mayResume: Bool {
        let fields = template.fields
        let conditions: [HTTPField.Name] = [.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince]
        return template.method == .get && template.body == nil && !conditions.contains { fields.contains($0) }
            && template.options.cache.read != .only && !CacheControl(request: fields).onlyIfCached
    }

    /// What a record of the present exchange begins with.
    private var partRecord: PartRecord {
        PartRecord(
            name: template.destination.flatMap { PartNames(target: $0) }?.name ?? "", url: template.url.description,
            finalURL: exchange.url.description, fields: PartRecord.choosingFields(template.fields))
    }

    // MARK: Asking

    /// The present exchange asks for what is missing, or for all of it where that cannot be.
    private func askForRest(_ download: DownloadState) throws(NetworkError) {
        let record = partRecord
        download.verdict = nil
        download.asked = try download.claim?.use { (part: DownloadPart) throws(NetworkError) in part.request(for: record) }
        try setRange(download.asked)
    }

    private func setRange(_ asked: PartRequest?) throws(NetworkError) {
        var fields = (drive.callersHeaders ?? exchange.headers).fields
        guard asked != nil || fields.contains(.ifRange) else { return }
        fields.remove(.range)
        fields.remove(.ifRange)
        fields[fields: .acceptEncoding] = template.fields[fields: .acceptEncoding]
        if let asked, let validator = asked.record.validator {
            fields[.range] = "bytes=\(asked.offset)-"
            fields.setText(.ifRange, validator)
            // No part is of coded bytes, and neither may its rest be.
            fields[.acceptEncoding] = "identity"
        }
        let headers = try session.headerBlock(fields, method: exchange.method, body: exchange.body)
        exchange = exchange.with(headers)
    }

    /// Before another attempt: what has come so far need not come again.
    func resumeAttempt() {
        guard let download = drive.download, download.keepsPart else { return }
        do throws(NetworkError) { try askForRest(download) } catch {
            // Then for all of it: what the last attempt asked for is nothing to compare the next response with.
            download.asked = nil
            try? setRange(nil)
            return
        }
        guard download.asked != nil else { return }
        // The cache sees whole responses alone.
        drive.callersHeaders = nil
        drive.cache = nil
    }

    /// What came does not fit the part, which is gone: the same again, without one.
    private func askAnew(_ download: DownloadState, _ result: TransferResult) {
        StepDoor.pass(.partDropped, id)
        guard mayGoOn else { return abandonWork() }
        do throws(NetworkError) {
            try askForRest(download)
            download.isAnother = true
        } catch { return fail(error, result, batch: nil) }
        exchange = TransferRequest(
            url: exchange.url, method: exchange.method, headers: authorizedForRetry(cookiesOfRetry()), body: exchange.body,
            options: exchange.options,
            wantsProgress: exchange.wantsProgress, wantsMilestones: exchange.wantsMilestones, attempt: exchange.attempt,
            repeatsSilently: exchange.repeatsSilently, deadline: exchange.deadline, runID: id)
        submitAttempt()
    }

    // MARK: Receiving

    /// Network thread, with the head of a response that does not lead on.
    ///
    /// - Returns: nil for a response like all others.
    func downloadDestination(_ head: ResponseHead, batch: DeliveryBatch) -> BodyDestination? {
        guard let download = drive.download else { return nil }
        download.offset = 0
        download.total = nil
        download.nextRecord = nil
        guard download.keepsPart || head.status == 206, !download.asksForRange else { return nil }
        let head = CacheHead(head)
        let decision = ResumeDecision(
            head, asked: download.asked, request: partRecord, now: WallTime(secondsSince1970: Date.now.timeIntervalSince1970))
        switch decision {
        case .restart(let record):
            download.nextRecord = record
            if download.asked != nil { download.isAnother = true }
            return nil
        case .other(let isGone):
            download.isGone = isGone
            return nil
        case .append(let end, let total):
            guard let asked = download.asked else { return nil }
            return append(head, asked, end: end, total: total, download, batch)
        case .complete:
            guard let asked = download.asked else { return nil }
            return complete(asked, download)
        case .again(let misfit): return refuse(.again, "the part cannot be gone on with: \(misfit.rawValue)", download)
        case .refuse: return refuse(nil, "a part of the file came, and all of it was asked for", download)
        }
    }

    private func append(
        _ head: CacheHead, _ asked: PartRequest, end: Int64, total: Int64?, _ download: DownloadState, _ batch: DeliveryBatch
    ) -> BodyDestination? {
        let whole = ResponseHead(asked.record.wholeHead(head, length: total ?? end))
        guard acceptsType(whole, isEmpty: false) else {
            drive.isTypeRefused = true
            return .memoryPrefix(limit: template.errorBodyBytes)
        }
        download.verdict = .rest(asked.record)
        drive.bodyIsValue = true
        download.offset = asked.offset
        download.total = total
        feed?.pushHead(whole, from: self, batch: batch)
        reportProgress(0, of: nil, download, batch)
        guard let claim = download.claim, let path = template.destination else { return nil }
        let file = FileSink(part: claim, destination: path, appendingTo: asked, end: end, total: total)
        download.file = file
        return .file(file)
    }

    private func complete(_ asked: PartRequest, _ download: DownloadState) -> BodyDestination? {
        guard let claim = download.claim, let path = template.destination else { return nil }
        download.file = FileSink(completePart: claim, destination: path, count: asked.size)
        download.offset = asked.size
        download.total = asked.size
        return refuse(.complete(asked), "the file is complete", download)
    }

    /// Where the whole file goes: into the part where it could be gone on with, else where every download goes.
    func wholeFile(_ path: String) -> BodyDestination {
        guard let download = drive.download, let file = download.wholeFile(path) else { return temporaryFile(path) }
        download.file = file
        return .file(file)
    }

    private func temporaryFile(_ path: String) -> BodyDestination {
        let file = FileSink(destination: path)
        let download = drive.download ?? DownloadState(claim: nil, keepsPart: false, asksForRange: true)
        drive.download = download
        download.file = file
        return .file(file)
    }

    /// Nothing of the body is wanted: its first byte ends the transfer, and with it a body that may be long.
    private func refuse(_ verdict: DownloadState.Verdict?, _ message: String, _ download: DownloadState) -> BodyDestination? {
        let error = NetworkError(.badResponse, phase: .receiving, message: message, runID: id, attempt: exchange.attempt)
        download.verdict = verdict ?? .failed(error)
        return .file(FileSink(refusing: error))
    }

    // MARK: Progress

    /// In bytes of the file: what was there already counts as well.
    func reportProgress(_ count: Int64, of total: Int64?, _ download: DownloadState, _ batch: DeliveryBatch) {
        guard exchange.wantsProgress else { return }
        let whole = download.offset > 0 ? download.total : total
        let completed = min(download.offset + count, whole ?? .max)
        let isAnother = download.isAnother
        download.isAnother = false
        feed?.pushReceived(TransferProgress(completed: completed, total: whole), restarts: isAnother, from: self, batch: batch)
    }

    // MARK: The end of an exchange

    /// Whether the end of an exchange has to do with the disk: all but a success whose file is not yet looked at.
    func waitsForDisk(_ result: TransferResult) -> Bool {
        guard let download = drive.download else { return false }
        guard result.error == nil, download.verdict == nil, !download.isGone, let head = result.head else { return true }
        return !template.options.validation.accepts(head.status)
    }

    /// Where ``waitsForDisk(_:)`` says so: the part is seen to, and the run goes on.
    func finishOnDisk(_ result: TransferResult) {
        guard let download = drive.download else { return received(result, batch: nil) }
        let end = DownloadEnd(
            verdict: download.verdict, isGone: download.isGone, claim: download.claim, file: download.file,
            isComplete: result.error == nil)
        download.verdict = nil
        download.isGone = false
        waitForDisk(atMost: result.error == nil ? nil : patienceWithDisk) {
            end.run()
        } next: { run, outcome in
            guard let outcome else { return run.failWithoutDisk(result) }
            guard let result = run.downloaded(result, end.verdict, outcome) else { return }
            run.received(result, batch: nil)
        }
    }

    /// The first reason counts.
    private func failWithoutDisk(_ result: TransferResult) {
        guard let error = result.error else { return failForDisk(result) }
        drive.file?.forbidPlacing()
        fail(error, result, batch: nil)
    }

    /// True while the disk has not returned with the part. Until then nothing can be added to it.
    var isPartHeld: Bool { drive.download.map { $0.keepsPart && $0.claim?.isInUse == true } ?? false }

    /// - Returns: nil when another exchange takes its place.
    private func downloaded(
        _ result: TransferResult, _ verdict: DownloadState.Verdict?, _ outcome: DownloadEnd.Outcome
    ) -> TransferResult? {
        guard let download = drive.download else { return result }
        if outcome.isMisfit {
            askAnew(download, result)
            return nil
        }
        switch verdict {
        case nil: return result
        case .again:
            askAnew(download, result)
            return nil
        case .failed(let error): return TransferResult(error: numbered(error), head: result.head, metrics: result.metrics)
        case .rest(let record): return result.error == nil ? whole(result, record, outcome) : result
        case .complete(let asked): return whole(result, asked.record, outcome)
        }
    }

    /// The response, as if all of the file had come with it.
    private func whole(_ result: TransferResult, _ record: PartRecord, _ outcome: DownloadEnd.Outcome) -> TransferResult {
        var whole = result
        whole.error = outcome.error.map(numbered)
        if let length = outcome.length { whole.head = result.head.map { ResponseHead(record.wholeHead(CacheHead($0), length: length)) } }
        return whole
    }

    // MARK: The end of the run

    /// After the value was made, or could not be.
    func concludeDownload() {
        guard let kept = endDownload(), case .failure(var error) = outcome else { return }
        error.resumableBytes = kept
        outcome = .failure(error)
    }

    /// Lets go of file and target before anybody hears of the end. Blocking pool.
    ///
    /// - Returns: how many bytes are kept for the next run.
    @discardableResult
    func endDownload() -> Int64? { drive.download?.end() }

    /// The same on any thread, for a run that is over: what follows does not wait for the disk.
    func dropDownload(then follow: @escaping @Sendable () -> Void = {}) {
        guard let ending = drive.download?.ending else { return follow() }
        block(nil) {
            _ = ending()
            follow()
        }
    }

    /// From a thread that must not wait for the disk, and may know nothing of the stage. Nothing happens where the run has let go by itself.
    func releaseTarget() {
        guard template.destination != nil, let claim = DownloadClaims.shared.claim(ofRun: id) else { return }
        block(nil) { claim.end() }
    }
}

extension RunCore.DriveState {
    var file: FileSink? {
        get { download?.file }
        set {
            // A response that was no download when it was asked for.
            if download == nil, newValue != nil { download = DownloadState(claim: nil, keepsPart: false, asksForRange: true) }
            download?.file = newValue
        }
    }
}
