/// The transfers whose files have bytes that were not handed over to their writers yet, and when they have to be.
struct UnflushedFiles {
    private(set) var transfers: [CurlEasy] = []
    /// When the next of them has to be flushed; `.max` for never.
    private(set) var deadline = UInt64.max

    init() {}

    mutating func insert(_ easy: CurlEasy) { transfers.append(easy) }

    mutating func remove(_ easy: CurlEasy) {
        if easy.body.hasUnflushedBytes { transfers.removeAll { $0 === easy } }
    }

    /// Hands over what has come for the files.
    ///
    /// - Returns: the transfers that were asked, whose disks may be slower than the network.
    mutating func flush(now: UInt64) -> [CurlEasy] {
        deadline = .max
        guard !transfers.isEmpty else { return [] }
        let before = transfers
        transfers = []
        for easy in before {
            if let next = easy.body.fileWriter?.flush(now: now) {
                deadline = min(deadline, next)
                transfers.append(easy)
            } else {
                easy.body.hasUnflushedBytes = false
            }
        }
        return before
    }
}
