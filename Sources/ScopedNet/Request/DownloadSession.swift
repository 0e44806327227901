import FoundationEssentials
import HTTPTypes

/// The download of one run: the target, which one run at a time may have, the part that an earlier run has left of it, and the file that is written.
///
/// It calls nobody: it says what a head or the end of an exchange means, and the run does that. Whatever waits for a disk is a value of its own
/// (``DownloadClaims``, ``DownloadEnd``, ``FileSink``). It belongs to whoever has the run.
final class DownloadSession {
    /// The meaning of the response that is coming for the file.
    enum Verdict: Sendable {
        /// It is the rest of the part.
        case rest(PartRecord)
        /// The part is the file already.
        case complete(PartRequest)
        /// It does not fit the part: the same is asked again, without one.
        case again
        case failed(NetworkError)
    }

    /// The way of a body.
    enum HeadStep {
        /// A response like all others.
        case pass
        /// The body is the rest of the file; the head is that of the whole one.
        case append(FileSink, ResponseHead)
        /// Nothing of the body is wanted: its first byte ends the transfer.
        case refuse(FileSink)
        /// The rest of a file of a type that is not accepted.
        case refuseType
    }

    /// The next step after the end of an exchange.
    enum FinishStep {
        case conclude(TransferResult)
        /// The response does not fit the part, which is gone: the same again, without one.
        case again
    }

    /// The request that the file is asked for with.
    struct Source {
        /// The path of the file.
        let path: String
        /// Without userinfo.
        let url: String
        let fields: HTTPFields
    }

    /// Nil where the target's folder cannot be found: the first write says why.
    let claim: DownloadClaim?
    /// True where there is a part that outlives the run.
    let keepsPart: Bool
    private let source: Source?
    /// A range of the caller's own: what it gets is what it asked for.
    private let asksForRange: Bool
    var file: FileSink?
    /// The rest that the present exchange asks for; nil for the whole file.
    private(set) var asked: PartRequest?
    private var verdict: Verdict?
    /// The server has nothing any more that the part could be gone on with.
    private var isGone = false
    /// The record of the head that has come, to go on with later.
    private var nextRecord: PartRecord?
    /// The place in the file of the present body's first byte; for progress.
    private(set) var offset: Int64 = 0
    private var total: Int64?
    /// The server has another file than the one that was reported on: a bar that stood still until the new one is as far would tell of the old
    /// one.
    private var isAnother = false

    init(_ source: Source, claim: DownloadClaim?, keepsPart: Bool) {
        self.source = source
        self.claim = claim
        self.keepsPart = keepsPart
        asksForRange = source.fields.contains(.range)
    }

    /// A response that was no download when it was asked for.
    init() {
        source = nil
        claim = nil
        keepsPart = false
        asksForRange = true
    }

    /// The beginning of a record of the present exchange.
    private func record(_ finalURL: String) -> PartRecord {
        PartRecord(
            name: source.flatMap { PartNames(target: $0.path) }?.name ?? "", url: source?.url ?? "", finalURL: finalURL,
            fields: PartRecord.choosingFields(source?.fields ?? [:]))
    }

    // MARK: Asking

    /// The present exchange asks for what is missing, or for all of it where that cannot be.
    ///
    /// `finalURL` is that of the exchange, without userinfo, and `fields` are the request's own. The answer is what it goes out with; nil where they
    /// stay.
    func askForRest(_ finalURL: String, _ fields: HTTPFields) throws(NetworkError) -> HTTPFields? {
        let record = record(finalURL)
        verdict = nil
        asked = try claim?.use { (part: DownloadPart) throws(NetworkError) in part.request(for: record) }
        return asking(fields)
    }

    /// For all of it: what the last attempt asked for is nothing to compare the next response with.
    func askForWhole(_ fields: HTTPFields) -> HTTPFields? {
        asked = nil
        return asking(fields)
    }

    /// As ``askForRest(_:_:)``, after a response that did not fit.
    func askAnew(_ finalURL: String, _ fields: HTTPFields) throws(NetworkError) -> HTTPFields? {
        let fields = try askForRest(finalURL, fields)
        isAnother = true
        return fields
    }

    private func asking(_ own: HTTPFields) -> HTTPFields? {
        guard asked != nil || own.contains(.ifRange) else { return nil }
        var fields = own
        fields.remove(.range)
        fields.remove(.ifRange)
        fields[fields: .acceptEncoding] = source?.fields[fields: .acceptEncoding] ?? []
        if let asked, let validator = asked.record.validator {
            fields[.range] = "bytes=\(asked.offset)-"
            fields.setText(.ifRange, validator)
            // No part is of coded bytes, and neither may its rest be.
            fields[.acceptEncoding] = "identity"
        }
        return fields
    }

    // MARK: Receiving

    /// With the head of a response that leads nowhere else. Only decides: the file's writer does the rest before the first byte. `acceptsType` is
    /// asked about the head of the whole file.
    func received(_ head: ResponseHead, _ finalURL: String, now: WallTime, acceptsType: (ResponseHead) -> Bool) -> HeadStep {
        offset = 0
        total = nil
        nextRecord = nil
        guard keepsPart || head.status == 206, !asksForRange else { return .pass }
        let head = CacheHead(head)
        switch ResumeDecision(head, asked: asked, request: record(finalURL), now: now) {
        case .restart(let record):
            nextRecord = record
            if asked != nil { isAnother = true }
            return .pass
        case .other(let isGone):
            self.isGone = isGone
            return .pass
        case .append(let end, let total):
            guard let asked else { return .pass }
            return append(head, asked, end: end, total: total, acceptsType)
        case .complete:
            guard let asked else { return .pass }
            return complete(asked)
        case .again(let misfit): return refuse(.again, "the part cannot be gone on with: \(misfit.rawValue)")
        case .refuse: return refuse(nil, "a part of the file came, and all of it was asked for")
        }
    }

    private func append(
        _ head: CacheHead, _ asked: PartRequest, end: Int64, total: Int64?, _ acceptsType: (ResponseHead) -> Bool
    ) -> HeadStep {
        let whole = ResponseHead(asked.record.wholeHead(head, length: total ?? end))
        guard acceptsType(whole) else { return .refuseType }
        verdict = .rest(asked.record)
        offset = asked.offset
        self.total = total
        guard let claim, let source else { return .pass }
        let file = FileSink(part: claim, destination: source.path, appendingTo: asked, end: end, total: total)
        self.file = file
        return .append(file, whole)
    }

    private func complete(_ asked: PartRequest) -> HeadStep {
        guard let claim, let source else { return .pass }
        file = FileSink(completePart: claim, destination: source.path, count: asked.size)
        offset = asked.size
        total = asked.size
        return refuse(.complete(asked), "the file is complete")
    }

    private func refuse(_ verdict: Verdict?, _ message: String) -> HeadStep {
        let error = NetworkError(.badResponse, phase: .receiving, message: message)
        self.verdict = verdict ?? .failed(error)
        return .refuse(FileSink(refusing: error))
    }

    /// The file for the present body, which is the whole file; nil where no part is kept. Touches nothing until its first byte: what is refused,
    /// or does not come, leaves the part as it was.
    func wholeFile(_ path: String) -> FileSink? {
        guard keepsPart, let claim else { return nil }
        return FileSink(destination: path, restarting: claim, nextRecord)
    }

    /// In bytes of the file: what was there already counts as well. `restarts` is said once, where another file begins.
    func progress(_ count: Int64, of total: Int64?) -> (TransferProgress, restarts: Bool) {
        let whole = offset > 0 ? self.total : total
        defer { isAnother = false }
        return (TransferProgress(completed: min(offset + count, whole ?? .max), total: whole), isAnother)
    }

    // MARK: The end of an exchange

    /// True where the end of an exchange has to do with the disk: always but for a success whose file is not yet looked at.
    func needsDisk(_ result: TransferResult, acceptsStatus: (Int) -> Bool) -> Bool {
        guard result.error == nil, verdict == nil, !isGone, let head = result.head else { return true }
        return !acceptsStatus(head.status)
    }

    /// The work to be done on the disk then. ``finished(_:_:_:)`` takes its outcome.
    func finish(isComplete: Bool) -> DownloadEnd {
        defer {
            verdict = nil
            isGone = false
        }
        return DownloadEnd(verdict: verdict, isGone: isGone, claim: claim, file: file, isComplete: isComplete)
    }

    func finished(_ result: TransferResult, _ end: DownloadEnd, _ outcome: DownloadEnd.Outcome) -> FinishStep {
        if outcome.isMisfit { return .again }
        switch end.verdict {
        case nil: return .conclude(result)
        case .again: return .again
        case .failed(let error): return .conclude(TransferResult(error: error, head: result.head, metrics: result.metrics))
        case .rest(let record): return .conclude(result.error == nil ? whole(result, record, outcome) : result)
        case .complete(let asked): return .conclude(whole(result, asked.record, outcome))
        }
    }

    /// The response, as if all of the file had come with it.
    private func whole(_ result: TransferResult, _ record: PartRecord, _ outcome: DownloadEnd.Outcome) -> TransferResult {
        var whole = result
        whole.error = outcome.error
        if let length = outcome.length { whole.head = result.head.map { ResponseHead(record.wholeHead(CacheHead($0), length: length)) } }
        return whole
    }

    /// True while the disk has not returned with the part. Until then nothing can be added to it.
    var isPartHeld: Bool { keepsPart && claim?.isInUse == true }

    // MARK: The end of the run

    /// Lets go of file and target, and says how many bytes are kept for the next run. Blocks for as long as the disk does.
    var ending: @Sendable () -> Int64? {
        { [file, claim] in
            file?.discard()
            return claim?.end()
        }
    }
}
