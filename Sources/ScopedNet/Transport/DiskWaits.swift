/// The transfers that wait for a disk on the way in or on the way out, and are no transfers of
/// libcurl's meanwhile.
///
/// A cancel and the total time end them as they end all others; the disk's answer then comes too
/// late, and is nobody's.
struct DiskWaits {
    /// A transfer that is over but for the last bytes of its file.
    struct Ending {
        let result: TransferResult
        let sink: any TransferSink
        let writer: FileWriter
        let transfer: TransferRequest
        /// When it ends without the disk, in nanoseconds of CLOCK_MONOTONIC.
        let deadline: UInt64
    }

    /// A transfer that has not begun: its files are being opened.
    struct Start {
        let transfer: TransferRequest
        let sink: any TransferSink
        var isSuspended = false
    }

    /// With a deadline behind it, a transfer still gives the disk this time: what has come is to be
    /// kept.
    private static let grace: UInt64 = 100_000_000

    /// The time that an error waits for the disk once it is known, in nanoseconds. Where a part is
    /// kept for the next request, a disk that is only slow gets the time to take what has come.
    static func patience(keepsPart: Bool) -> UInt64 { keepsPart ? 5_000_000_000 : 1_000_000_000 }

    /// When a transfer that is over ends without the disk. Only a success waits without a limit
    /// where there is no total time.
    static func limit(_ code: NetworkError.Code?, keepsPart: Bool, deadline: UInt64?, now: UInt64) -> UInt64 {
        let last = deadline.map { max($0, now &+ grace) } ?? .max
        return switch code {
        case nil: last
        case .totalTimeout: min(last, now &+ grace)
        default: min(last, now &+ patience(keepsPart: keepsPart))
        }
    }

    private var endings: [TransferID: Ending] = [:]
    private var starts: [TransferID: Start] = [:]
    /// When the first of them ends without the disk.
    private(set) var deadline = UInt64.max

    // MARK: Before the transfer

    mutating func insert(_ transfer: TransferRequest, _ sink: any TransferSink) {
        starts[transfer.id] = Start(transfer: transfer, sink: sink)
        deadline = min(deadline, transfer.deadline ?? .max)
    }

    mutating func removeStart(_ id: TransferID) -> Start? {
        defer { findDeadline() }
        return starts.removeValue(forKey: id)
    }

    mutating func setSuspended(_ id: TransferID, _ isSuspended: Bool) { starts[id]?.isSuspended = isSuspended }

    // MARK: After the transfer

    /// - Returns: false when the transfer does not wait: nobody cares for its file any more.
    mutating func insert(
        _ id: TransferID, _ result: TransferResult, _ sink: any TransferSink, _ writer: FileWriter, _ transfer: TransferRequest, now: UInt64
    ) -> Bool {
        switch result.error?.code {
        case .cancelled, .shutdown: return false
        default: break
        }
        let last = Self.limit(result.error?.code, keepsPart: writer.file.isPart, deadline: transfer.deadline, now: now)
        endings[id] = Ending(result: result, sink: sink, writer: writer, transfer: transfer, deadline: last)
        deadline = min(deadline, last)
        return true
    }

    /// The disk has returned, or nobody waits for it any more.
    mutating func remove(_ id: TransferID) -> Ending? {
        defer { findDeadline() }
        return endings.removeValue(forKey: id)
    }

    // MARK: Ending without the disk

    /// - Returns: who has to hear of which end.
    mutating func remove(
        _ id: TransferID, _ code: NetworkError.Code, _ message: String
    ) -> (sink: any TransferSink, result: TransferResult)? {
        if let start = removeStart(id) { return (start.sink, start.ended(code, message)) }
        return remove(id).map { ($0.sink, $0.ended(code, message)) }
    }

    var all: [TransferID] { Array(starts.keys) + Array(endings.keys) }

    func overdue(now: UInt64) -> [TransferID] {
        guard deadline <= now else { return [] }
        return starts.filter { $0.value.transfer.deadline ?? .max <= now }.map(\.key)
            + endings.filter { $0.value.deadline <= now }.map(\.key)
    }

    private mutating func findDeadline() {
        deadline = endings.values.reduce(.max) { min($0, $1.deadline) }
        deadline = starts.values.reduce(deadline) { min($0, $1.transfer.deadline ?? .max) }
    }
}

extension DiskWaits.Start {
    func ended(_ code: NetworkError.Code, _ message: String) -> TransferResult {
        TransferResult(
            error: NetworkError(code, phase: .preparing, message: message, runID: transfer.runID, attempt: transfer.attempt))
    }
}

extension DiskWaits.Ending {
    /// All is written, or writing has failed.
    var whole: TransferResult {
        var whole = result
        // The first reason counts.
        if whole.error == nil, let failure = writer.failure { whole.fail(with: failure, transfer) }
        return whole
    }

    /// The disk did not return.
    func ended(_ code: NetworkError.Code, _ message: String) -> TransferResult {
        var ended = result
        if ended.error == nil { ended.fail(with: NetworkError(code, phase: .receiving, message: message), transfer) }
        return ended
    }
}

extension TransferResult {
    /// What came over the network was complete, and is of no use.
    mutating func fail(with error: NetworkError, _ transfer: TransferRequest) {
        var failure = error
        failure.runID = transfer.runID
        failure.attempt = transfer.attempt
        failure.response = head
        failure.connectionReused = metrics.isConnectionReused
        failure.responseBytesReceived = true
        self.error = failure
    }
}
