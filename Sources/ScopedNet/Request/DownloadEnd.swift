/// What the end of an exchange does to the part of a download, before it is decided how the run
/// goes on. Blocks for as long as the disk does.
struct DownloadEnd: Sendable {
    let verdict: DownloadSession.Verdict?
    let isGone: Bool
    let claim: DownloadClaim?
    let file: FileSink?
    /// Whether the exchange has ended well: only then the file is as complete as its part.
    let isComplete: Bool

    struct Outcome: Sendable {
        var error: NetworkError?
        /// The part is not what the request was made of any more.
        var isMisfit = false
        /// Of the whole file.
        var length: Int64?
    }

    func run() -> Outcome {
        var outcome = Outcome()
        do throws(NetworkError) {
            if isGone { try claim?.use { (part: DownloadPart) throws(NetworkError) in part.drop() } }
            switch verdict {
            case nil, .failed: break
            case .again: try claim?.use { (part: DownloadPart) throws(NetworkError) in part.drop() }
            case .rest:
                guard isComplete else { break }
                // A body without bytes has not begun.
                try file?.begin()
                outcome.length = try claim?.use(Self.length)
            case .complete(let asked):
                let fits = try claim?.use { (part: DownloadPart) throws(NetworkError) in try part.complete(asked) }
                outcome.isMisfit = fits == false
                if !outcome.isMisfit { outcome.length = try claim?.use(Self.length) }
            }
        } catch { outcome.error = error }
        if file?.hasMisfit == true { outcome.isMisfit = true }
        if outcome.isMisfit { _ = try? claim?.use { (part: DownloadPart) throws(NetworkError) in part.drop() } }
        return outcome
    }

    private static func length(_ part: DownloadPart) throws(NetworkError) -> Int64 {
        if let shortfall = part.shortfall { throw shortfall }
        return part.count
    }
}
