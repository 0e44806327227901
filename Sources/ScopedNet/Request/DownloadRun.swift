import FoundationEssentials
import Glibc
import HTTPTypes

/// The download of a run.
struct DownloadState {
    /// Of a download to a file, and of a response that became one.
    var session: DownloadSession?
    /// The file, in its place.
    var committed: FileSink?
    /// Nil while it was not tried to give the file its place.
    var commitOutcome: Result<Void, NetworkError>?

    /// The file that is being written.
    var file: FileSink? {
        get { session?.file }
        set {
            // A response that was no download when it was asked for.
            if session == nil, newValue != nil { session = DownloadSession() }
            session?.file = newValue
        }
    }
}

/// A run that downloads to a file: the target, which one run at a time may have, and the part that an earlier run has left of it.
///
/// All of it blocks for as long as the disk does, and happens on the blocking pool. With a head the network thread only decides: the file's
/// writer does it before the first byte (``FileSink``), or the pool at the end of the exchange.
protocol DownloadRun: HookedRun {
    var caching: CacheState { get set }
    /// The fields of another attempt, with the cookies and credentials of this moment.
    func renewedFields() -> HeaderBlock
}

extension DownloadRun {
    // MARK: The target

    /// Before the first exchange.
    func claimTarget() -> RunEvent? {
        waitForDisk { [self] in
            StepDoor.pass(.targetAsked, id)
            return Result { () throws(NetworkError) in try openTarget() }
        } next: { run, opened in
            guard let opened else { return run.failForDisk(nil) }
            run.take(opened)
        } late: { opened in
            // The run has ended, and could not let go of what it had not got.
            if case .success(.granted(let claim, _)) = opened { claim.end() }
        }
        return nil
    }

    private func take(_ opened: Result<OpenedTarget, NetworkError>) {
        do throws(NetworkError) {
            switch try opened.get() {
            case .leaving(let claim): return wait(for: claim)
            case .later: downloading.session = downloadSession(nil, keepsPart: false)
            case .granted(let claim, let keepsPart):
                let download = downloadSession(claim, keepsPart: keepsPart)
                downloading.session = download
                if keepsPart { try askForRest(download) }
            }
        } catch { return fail(numbered(error)) }
        StepDoor.pass(.targetClaimed, id)
        guard mayGoOn else { return abandonWork() }
        receive(.done)
    }

    private func downloadSession(_ claim: DownloadClaim?, keepsPart: Bool) -> DownloadSession {
        let source = DownloadSession.Source(
            path: template.destination ?? "", url: template.url.description, fields: template.fields)
        return DownloadSession(source, claim: claim, keepsPart: keepsPart)
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

    /// True where the target is known with the response only: in a folder by its name, or where the program says. Nobody else can have it before.
    private var choosesTarget: Bool {
        if hook({ $0.destination }) != nil { return true }
        var status = stat()
        guard let path = template.destination, stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }

    /// A cancelled run has the target, but not for long: it is the next one's as soon as its file is closed.
    private func wait(for claim: DownloadClaim) {
        ask(HookQuestion { await claim.closed() }) { run, _ in _ = run.claimTarget() }
    }

    /// True if the request leaves it to the library which bytes it asks for.
    private var mayResume: Bool {
        let fields = template.fields
        let conditions: [HTTPField.Name] = [.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince]
        return template.method == .get && template.body == nil && !conditions.contains { fields.contains($0) }
            && template.options.cache.read != .only && !CacheControl(request: fields).onlyIfCached
    }

    // MARK: Asking

    private func askForRest(_ download: DownloadSession) throws(NetworkError) {
        try setOwnFields(try download.askForRest(exchanges.url.description, exchanges.ownHeaders.fields))
    }

    /// Before another attempt: what has come so far need not come again.
    func resumeAttempt() {
        guard let download = downloading.session, download.keepsPart else { return }
        do throws(NetworkError) { try askForRest(download) } catch {
            try? setOwnFields(download.askForWhole(exchanges.ownHeaders.fields))
            return
        }
        guard download.asked != nil else { return }
        // The cache sees whole responses alone.
        caching.transaction = nil
    }

    /// The response does not fit the part, which is gone: the same again, without one.
    private func askAnew(_ download: DownloadSession, _ result: TransferResult) {
        StepDoor.pass(.partDropped, id)
        guard mayGoOn else { return abandonWork() }
        do throws(NetworkError) {
            try setOwnFields(try download.askAnew(exchanges.url.description, exchanges.ownHeaders.fields))
        } catch { return fail(error, result) }
        exchanges.again(renewedFields())
        receive(.retried)
    }

    // MARK: Receiving

    /// Network thread, with the head of a response that does not lead on.
    ///
    /// - Returns: nil for a response like all others.
    func downloadDestination(_ head: ResponseHead, batch: DeliveryBatch) -> BodyDestination? {
        guard let download = downloading.session else { return nil }
        let now = WallTime(secondsSince1970: Date.now.timeIntervalSince1970)
        let step = download.received(head, exchanges.url.description, now: now) { acceptsType($0, isEmpty: false) }
        switch step {
        case .pass: return nil
        case .append(let file, let whole):
            receiving.bodyIsValue = true
            feed?.pushHead(whole, from: self, batch: batch)
            reportProgress(0, of: nil, download, batch)
            return .file(file)
        case .refuse(let file): return .file(file)
        case .refuseType:
            receiving.isTypeRefused = true
            return .memoryPrefix(limit: template.errorBodyBytes)
        }
    }

    /// The place of the whole file: the part where it could be gone on with, else where every download goes.
    func wholeFile(_ path: String) -> BodyDestination {
        guard let download = downloading.session, let file = download.wholeFile(path) else { return temporaryFile(path) }
        download.file = file
        return .file(file)
    }

    private func temporaryFile(_ path: String) -> BodyDestination {
        let file = FileSink(destination: path)
        let download = downloading.session ?? DownloadSession()
        downloading.session = download
        download.file = file
        return .file(file)
    }

    // MARK: Progress

    func reportProgress(_ count: Int64, of total: Int64?, _ download: DownloadSession, _ batch: DeliveryBatch) {
        guard exchanges.wantsProgress else { return }
        let (progress, restarts) = download.progress(count, of: total)
        feed?.pushReceived(progress, restarts: restarts, from: self, batch: batch)
    }

    // MARK: The end of an exchange

    func finishPart(_ input: inout StepInput) -> RunEvent? {
        guard let download = downloading.session, let result = input.result,
            download.needsDisk(result, acceptsStatus: { template.options.validation.accepts($0) })
        else { return .done }
        let end = download.finish(isComplete: result.error == nil)
        waitForDisk(atMost: result.error == nil ? nil : patienceWithDisk) {
            end.run()
        } next: { run, outcome in
            guard let outcome else { return run.failWithoutDisk(result) }
            run.finished(result, end, outcome)
        }
        return nil
    }

    private func finished(_ result: TransferResult, _ end: DownloadEnd, _ outcome: DownloadEnd.Outcome) {
        guard let download = downloading.session else { return receive(.done, StepInput(result: result)) }
        switch download.finished(result, end, outcome) {
        case .again: askAnew(download, result)
        case .conclude(var result):
            result.error = result.error.map(numbered)
            receive(.done, StepInput(result: result))
        }
    }

    /// The first reason counts.
    private func failWithoutDisk(_ result: TransferResult) {
        guard let error = result.error else { return failForDisk(result) }
        downloading.file?.forbidPlacing()
        fail(error, result)
    }

    /// The total time is over, and the disk has not answered.
    func failForDisk(_ result: TransferResult?) {
        // Before the error is told, and without waiting for a thread: the disk may return any moment.
        downloading.file?.forbidPlacing()
        fail(totalTimeout(result == nil ? .preparing : .receiving, ", and the disk has not answered"), result)
    }

    /// The time that an error waits for the disk once it is known.
    var patienceWithDisk: Duration { .nanoseconds(Int64(DiskWaits.patience(keepsPart: downloading.session?.keepsPart == true))) }

    var isPartHeld: Bool { downloading.session?.isPartHeld ?? false }

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
    func endDownload() -> Int64? { downloading.session?.ending() }

    /// The same on any thread, for a run that is over: nobody waits for the disk.
    func dropDownload() {
        guard let ending = downloading.session?.ending else { return }
        block(.direct) { _ = ending() }
    }
}

private enum OpenedTarget: Sendable {
    /// Known with the response.
    case later
    case leaving(DownloadClaim)
    case granted(DownloadClaim, keepsPart: Bool)
}
