import FoundationEssentials
import Glibc
import HTTPTypes

/// Downloads: the target, which one run at a time may have, and the part that an earlier run has left of it.
///
/// All of it blocks for as long as the disk does. Opening happens on the work pool; with a head, and with the end of an exchange, the network
/// thread makes as few calls as for writing the file itself.
extension RunCore {
    // MARK: The target

    /// Before the first exchange.
    func claimTarget() {
        enter(.working)
        WorkPool.shared.submit([
            { [self] in
                StepDoor.pass(.targetAsked, id)
                guard mayGoOn else { return abandonWork() }
                do throws(NetworkError) {
                    if let leaving = try openTarget() { return wait(for: leaving) }
                } catch {
                    var error = error
                    error.requestID = id
                    return fail(error, turn: nil)
                }
                StepDoor.pass(.targetClaimed, id)
                guard mayGoOn else { return abandonWork() }
                enter(.idle)
                beginExchanges(nil)
            }
        ])
    }

    /// - Returns: a claim to wait for.
    private func openTarget() throws(NetworkError) -> DownloadClaim? {
        let asksForRange = template.fields.contains(.range)
        guard !choosesTarget, let names = template.destination.flatMap({ PartNames(target: $0) }), let target = DownloadTarget(names) else {
            drive.download = DownloadState(claim: nil, keepsPart: false, asksForRange: asksForRange)
            return nil
        }
        let answer = DownloadClaims.shared.claim(target, DownloadPart(names), run: id) { [weak self] in self?.mayGoOn != true }
        switch answer {
        case .taken: throw .targetInUse(names.target)
        case .leaving(let claim): return claim
        case .granted(let claim):
            let keepsPart = template.options.downloads.resumes && mayResume
            let download = DownloadState(claim: claim, keepsPart: keepsPart, asksForRange: asksForRange)
            drive.download = download
            guard keepsPart else { return nil }
            try FileSink.checkDestination(names.target)
            try claim.use { (part: DownloadPart) throws(NetworkError) in try part.open() }
            try askForRest(download)
            return nil
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

    /// What came does not fit the part: the same again, without one.
    private func askAnew(_ download: DownloadState, _ result: TransferResult) {
        StepDoor.pass(.partDropped, id)
        guard mayGoOn else { return abandonWork() }
        do throws(NetworkError) {
            try download.claim?.use { (part: DownloadPart) throws(NetworkError) in part.drop() }
            try askForRest(download)
            download.isAnother = true
        } catch { return fail(error, result, turn: nil) }
        exchange = TransferRequest(
            url: exchange.url, method: exchange.method, headers: authorizedForRetry(cookiesOfRetry()), body: exchange.body,
            options: exchange.options,
            wantsProgress: exchange.wantsProgress, wantsMilestones: exchange.wantsMilestones, attempt: exchange.attempt,
            repeatsSilently: exchange.repeatsSilently, deadline: exchange.deadline, requestID: id)
        submitAttempt()
    }

    // MARK: Receiving

    /// Network thread, with the head of a response that does not lead on.
    ///
    /// - Returns: nil for a response like all others.
    func downloadDestination(_ head: ResponseHead, turn: TransportTurn) -> BodyDestination? {
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
            if isGone { _ = try? download.claim?.use { (part: DownloadPart) throws(NetworkError) in part.drop() } }
            return nil
        case .append(let end, let total):
            guard let asked = download.asked else { return nil }
            return append(head, asked, end: end, total: total, download, turn)
        case .complete:
            guard let asked = download.asked else { return nil }
            return complete(asked, download)
        case .again(let misfit): return refuse(.again, "the part cannot be gone on with: \(misfit.rawValue)", download)
        case .refuse: return refuse(nil, "a part of the file came, and all of it was asked for", download)
        }
    }

    private func append(
        _ head: CacheHead, _ asked: PartRequest, end: Int64, total: Int64?, _ download: DownloadState, _ turn: TransportTurn
    ) -> BodyDestination? {
        let whole = ResponseHead(asked.record.wholeHead(head, length: total ?? end))
        guard acceptsType(whole, isEmpty: false) else {
            drive.isTypeRefused = true
            return .memoryPrefix(limit: template.errorBodyBytes)
        }
        do throws(NetworkError) {
            let holds = try download.claim?.use { (part: DownloadPart) throws(NetworkError) in
                try part.append(to: asked, end: end, total: total)
            }
            guard holds != false else { return refuse(.again, "the part is not the one that was asked for any more", download) }
        } catch { return refuse(error, download) }
        download.verdict = .rest(asked.record)
        download.offset = asked.offset
        download.total = total
        feed?.pushHead(whole, from: self, turn: turn)
        reportProgress(0, of: nil, download, turn)
        return sink(download, count: asked.offset)
    }

    private func complete(_ asked: PartRequest, _ download: DownloadState) -> BodyDestination? {
        do throws(NetworkError) {
            let holds = try download.claim?.use { (part: DownloadPart) throws(NetworkError) in try part.complete(asked) }
            guard holds != false else { return refuse(.again, "the part is not the one that was asked for any more", download) }
        } catch { return refuse(error, download) }
        _ = sink(download, count: asked.size)
        download.offset = asked.size
        download.total = asked.size
        return refuse(.complete(asked.record), "the file is complete", download)
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

    private func sink(_ download: DownloadState, count: Int64) -> BodyDestination? {
        guard let claim = download.claim, let path = template.destination else { return nil }
        let file = FileSink(part: claim, destination: path, count: count)
        download.file = file
        return .file(file)
    }

    private func refuse(_ error: NetworkError, _ download: DownloadState) -> BodyDestination? {
        download.verdict = .failed(error)
        return .file(FileSink(refusing: error))
    }

    /// Nothing of the body is wanted: its first byte ends the transfer, and with it a body that may be long.
    private func refuse(_ verdict: DownloadState.Verdict?, _ message: String, _ download: DownloadState) -> BodyDestination? {
        let error = NetworkError(.badResponse, phase: .receiving, message: message, requestID: id, attempt: exchange.attempt)
        download.verdict = verdict ?? .failed(error)
        return .file(FileSink(refusing: error))
    }

    // MARK: Progress

    /// In bytes of the file: what was there already counts as well.
    func reportProgress(_ count: Int64, of total: Int64?, _ download: DownloadState, _ turn: TransportTurn) {
        guard exchange.wantsProgress else { return }
        let whole = download.offset > 0 ? download.total : total
        let completed = min(download.offset + count, whole ?? .max)
        let isAnother = download.isAnother
        download.isAnother = false
        feed?.pushReceived(TransferProgress(completed: completed, total: whole), restarts: isAnother, from: self, turn: turn)
    }

    // MARK: The end of an exchange

    /// Network thread.
    func downloadFinished(_ result: TransferResult, turn: TransportTurn) {
        if let result = downloaded(result) { received(result, turn: turn) }
    }

    /// - Returns: nil when another exchange takes its place.
    private func downloaded(_ result: TransferResult) -> TransferResult? {
        guard let download = drive.download else { return result }
        let verdict = download.verdict
        download.verdict = nil
        switch verdict {
        case nil: return result
        case .again:
            askAnew(download, result)
            return nil
        case .complete(let record): return whole(result, record, download)
        case .failed(var error):
            error.requestID = id
            error.attempt = exchange.attempt
            return TransferResult(error: error, head: result.head, metrics: result.metrics)
        case .rest(let record):
            guard result.error == nil else { return result }
            return whole(result, record, download)
        }
    }

    /// The response, as if all of the file had come with it.
    private func whole(_ result: TransferResult, _ record: PartRecord, _ download: DownloadState) -> TransferResult {
        var whole = result
        whole.error = nil
        do throws(NetworkError) {
            let length = try download.claim?.use { (part: DownloadPart) throws(NetworkError) in
                if let shortfall = part.shortfall { throw shortfall }
                return part.count
            }
            whole.head = result.head.map { ResponseHead(record.wholeHead(CacheHead($0), length: length ?? 0)) }
        } catch {
            whole.error = error
            whole.error?.requestID = id
            whole.error?.attempt = exchange.attempt
        }
        return whole
    }

    // MARK: The end of the run

    /// Puts a complete file in its place, as long as the target is this run's.
    func commit(_ file: FileSink, coding: String?) throws(NetworkError) {
        let (limits, synchronizes) = (template.options.decoding, template.options.downloads.synchronizes)
        try file.begin()
        guard let claim = drive.download?.claim, !file.isPart else {
            return try file.commit(coding: coding, limits: limits, synchronizes: synchronizes)
        }
        try claim.use { (_: DownloadPart) throws(NetworkError) in
            try file.commit(coding: coding, limits: limits, synchronizes: synchronizes)
        }
    }

    /// After the value was made, or could not be.
    func concludeDownload() {
        guard let kept = endDownload(), case .failure(var error) = outcome else { return }
        error.resumableBytes = kept
        outcome = .failure(error)
    }

    /// Lets go of file and target, on every way out, before anybody hears of the end.
    ///
    /// - Returns: how many bytes are kept for the next run.
    @discardableResult
    func endDownload() -> Int64? {
        guard let download = drive.download else { return nil }
        download.file?.discard()
        return download.claim?.end()
    }

    /// From a thread that must not wait for the disk, and may know nothing of the stage. Nothing happens where the run has let go by itself.
    func releaseTarget() {
        guard template.destination != nil, let claim = DownloadClaims.shared.claim(ofRun: id) else { return }
        WorkPool.shared.submit([{ claim.end() }])
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
