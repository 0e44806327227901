/// What a run that downloads to a file has to remember. Handed from stage to stage with the rest of the run.
final class DownloadState {
    /// What the response that is coming means for the file.
    enum Verdict: Sendable {
        /// It is the rest of the part.
        case rest(PartRecord)
        /// The part is the file already.
        case complete(PartRequest)
        case again
        case failed(NetworkError)
    }

    /// Nil where the target's folder cannot be found: the first write says why.
    let claim: DownloadClaim?
    /// Whether there is a part that outlives the run.
    let keepsPart: Bool
    /// A range of the caller's own: what it gets is what it asked for.
    let asksForRange: Bool
    var file: FileSink?
    /// What the present exchange asks for; nil for the whole file.
    var asked: PartRequest?
    var verdict: Verdict?
    /// The server has nothing any more that the part could be gone on with.
    var isGone = false
    /// What the head that has come would be gone on with.
    var nextRecord: PartRecord?
    /// Where the present body begins in the file, and how long that is; for progress.
    var offset: Int64 = 0
    var total: Int64?
    /// The server has another file than the one that was reported on: a bar that stood still until the new one is as far would tell of the old
    /// one.
    var isAnother = false

    init(claim: DownloadClaim?, keepsPart: Bool, asksForRange: Bool) {
        self.claim = claim
        self.keepsPart = keepsPart
        self.asksForRange = asksForRange
    }

    /// Where the present body, which is the whole file, goes; nil where no part is kept. Touches nothing until its first byte: what is refused,
    /// or does not come, leaves the part as it was.
    func wholeFile(_ path: String) -> FileSink? {
        guard keepsPart, let claim else { return nil }
        return FileSink(destination: path, restarting: claim, nextRecord)
    }

    /// Lets go of file and target, and says how many bytes are kept for the next run. Blocks for as long as the disk does.
    var ending: @Sendable () -> Int64? {
        { [file, claim] in
            file?.discard()
            return claim?.end()
        }
    }

    func end() -> Int64? { ending() }
}
