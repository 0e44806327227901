import SystemSupport

/// Who downloads where, in this process: one run for each target.
final class DownloadClaims: Sendable {
    enum Answer {
        case granted(DownloadClaim)
        /// By a run that has been cancelled and still has the file in its hands.
        case leaving(DownloadClaim)
        case taken
    }

    private struct Table {
        var targets: [DownloadTarget: DownloadClaim] = [:]
        var runs: [UInt64: DownloadClaim] = [:]
    }

    static let shared = DownloadClaims()
    private let table = Lock(Table())

    func claim(_ target: DownloadTarget, _ part: DownloadPart, run: UInt64, isLeaving: @escaping @Sendable () -> Bool) -> Answer {
        let claim = DownloadClaim(target, part, run: run, isLeaving: isLeaving)
        let holder = table.withLock { table -> DownloadClaim? in
            if let holder = table.targets[target] { return holder }
            table.targets[target] = claim
            table.runs[run] = claim
            return nil
        }
        guard let holder else { return .granted(claim) }
        return holder.isLeaving() ? .leaving(holder) : .taken
    }

    func remove(_ claim: DownloadClaim) {
        table.withLock { table in
            if table.targets[claim.target] === claim { table.targets[claim.target] = nil }
            if table.runs[claim.run] === claim { table.runs[claim.run] = nil }
        }
    }

    /// Of a run that is under way.
    func claim(ofRun run: UInt64) -> DownloadClaim? { table.withLock { $0.runs[run] } }
}
