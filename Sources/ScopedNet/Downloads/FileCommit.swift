import FoundationEssentials

/// The last step of a download: the complete file gets its place, as long as the target is the
/// run's. Blocks for as long as the disk does.
struct FileCommit: Sendable {
    let file: FileSink
    let claim: DownloadClaim?
    /// A body that came before it was known to be what was asked for; empty nearly always.
    let late: Data
    let coding: String?
    let limits: DecodingLimits
    let synchronizes: Bool

    /// Puts the file in its place, if `mayPlace` answers true when all but that is done.
    func run(_ mayPlace: () -> Bool) -> Result<Void, NetworkError> {
        do throws(NetworkError) {
            if !late.isEmpty { try file.write(late) }
            try file.begin()
            guard let claim, !file.isPart else { return .success(try commit(mayPlace)) }
            return .success(try claim.use { (_: DownloadPart) throws(NetworkError) in try commit(mayPlace) })
        } catch { return .failure(error) }
    }

    private func commit(_ mayPlace: () -> Bool) throws(NetworkError) {
        try file.commit(coding: coding, limits: limits, synchronizes: synchronizes, mayPlace: mayPlace)
    }
}
