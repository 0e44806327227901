/// The clocks of one transfer and the pauses that hold them: when it has to be looked at next, and which limit it has passed. (pure)
///
/// All times are nanoseconds of CLOCK_MONOTONIC.
struct TransferClocks: Sendable {
    /// A limit that was passed.
    enum Expiry: Sendable, Hashable {
        /// The transfer took longer than ``Timeouts/total``.
        case total
        /// No connection was made within ``Timeouts/connect``, as the name is still being looked up.
        case nameLookup
        /// A body sequence has given all its bytes and did not end.
        case bodyEnd
        /// No byte of the response came within the limit.
        case firstByte(limit: UInt64)
        /// No byte moved within the limit.
        case idle(limit: UInt64)

        /// The error of the transfer; without a phase it is the one that the transfer has reached.
        func failure(_ timeouts: Timeouts, hasHead: Bool) -> (code: NetworkError.Code, message: String, phase: NetworkError.Phase?) {
            func silence(_ limit: UInt64) -> String {
                "\(hasHead ? "no byte" : "no response") for \(Duration.nanoseconds(Int64(clamping: limit)))"
            }
            return switch self {
            case .total: (.totalTimeout, "the total time of \(timeouts.total ?? .zero) is over", nil)
            case .nameLookup:
                (.connectTimeout, "no connection within \(timeouts.connect ?? .zero): its name is still being looked up", .resolving)
            case .bodyEnd: (.bodyStreamFailed, "the body sequence has given all its bytes, and does not end", .sending)
            case .firstByte(let limit): (.firstByteTimeout, silence(limit), nil)
            case .idle(let limit): (.idleTimeout, silence(limit), nil)
            }
        }
    }

    /// The progress of the exchange, as far as it decides which clock runs.
    struct Stage: Sendable {
        var isNameLookedUp = true
        var isRequestSent = false
        /// The first byte of the request's body has gone out, and the last has not.
        var isSendingBody = false
        var hasHead = false
    }

    var began: UInt64 = 0
    var lastActivity: UInt64 = 0
    /// When the latest request was ready to go out.
    var sentAt: UInt64 = 0
    var headCompleted: UInt64 = 0
    var startedAt = Moment.now

    // Pauses

    /// The caller has suspended the transfer.
    var isSuspended = false
    /// The reader of the response, its disk or a limit on the speed holds up the response.
    var isReadPaused = false
    /// The source of the body, or a limit on the speed, holds up the body.
    var isWritePaused = false
    /// The upload has given all its bytes, and has not ended.
    var awaitsBodyEnd = false
    /// When a limit on the speed lets the transfer go on; nil where it holds nothing back.
    var paceResume: UInt64?

    /// Neither the caller nor a reader, a source or a limit holds up the transfer.
    var isRunning: Bool { !isSuspended && !isReadPaused && !isWritePaused }

    mutating func begin(now: UInt64, moment: Moment) {
        began = now
        lastActivity = now
        startedAt = moment
    }

    /// Takes back what belongs to one transfer.
    mutating func end() {
        headCompleted = 0
        isSuspended = false
        isReadPaused = false
        isWritePaused = false
        awaitsBodyEnd = false
        paceResume = nil
    }

    /// Ends the pauses of readers and sources. Those that still want one are asked again.
    mutating func endPauses() {
        isReadPaused = false
        isWritePaused = false
    }

    /// Holds the transfer up until a limit on the speed lets it go on.
    mutating func hold(until time: UInt64) { paceResume = min(paceResume ?? .max, time) }

    /// Ends the pause of a limit on the speed when its time has come. A suspended transfer stays paused.
    mutating func endPace(now: UInt64) -> Bool {
        guard let time = paceResume, time <= now, !isSuspended else { return false }
        paceResume = nil
        return true
    }

    private var paceDeadline: UInt64 { isSuspended ? .max : paceResume ?? .max }

    // MARK: Limits

    /// When the transfer has to be looked at next, if nothing happens.
    func nextDeadline(_ stage: Stage, _ options: TransferOptions, deadline: UInt64?) -> UInt64 {
        let total = min(deadline ?? .max, nameDeadline(stage, options))
        if awaitsBodyEnd, !stage.hasHead, !isSuspended, let idle = options.idleNanoseconds {
            return min(total, paceDeadline, lastActivity &+ idle)
        }
        guard isRunning else { return min(total, paceDeadline) }
        guard let limit = silenceLimit(stage, options) else { return total }
        return min(total, lastActivity &+ limit)
    }

    /// Finds the limit that has been passed.
    mutating func expired(now: UInt64, _ stage: Stage, _ options: TransferOptions, deadline: UInt64?) -> Expiry? {
        if let deadline, deadline <= now { return .total }
        if nameDeadline(stage, options) <= now { return .nameLookup }
        // A sequence may take its time with its bytes. One that has given all of them and does not end would keep the connection for ever.
        if awaitsBodyEnd, !stage.hasHead {
            guard !isSuspended, let idle = options.idleNanoseconds, lastActivity &+ idle <= now else { return nil }
            return .bodyEnd
        }
        guard nextDeadline(stage, options, deadline: deadline) <= now, let limit = silenceLimit(stage, options) else { return nil }
        if stage.hasHead { return .idle(limit: limit) }
        // Connecting has its own clock, in libcurl; the first byte's starts when the request can be sent.
        guard stage.isRequestSent else {
            lastActivity = now
            return nil
        }
        if sentAt > lastActivity {
            lastActivity = sentAt
            if lastActivity &+ limit > now { return nil }
        }
        return stage.isSendingBody ? .idle(limit: limit) : .firstByte(limit: limit)
    }

    /// The longest silence; nil without a limit.
    private func silenceLimit(_ stage: Stage, _ options: TransferOptions) -> UInt64? {
        stage.hasHead || stage.isSendingBody ? options.idleNanoseconds : options.firstByteNanoseconds
    }

    /// The connect clock counts here and not in libcurl while the name is looked up: no connection is being made yet.
    private func nameDeadline(_ stage: Stage, _ options: TransferOptions) -> UInt64 {
        guard !stage.isNameLookedUp, let connect = options.timeouts.connect else { return .max }
        return began &+ connect.nanoseconds
    }

    /// Puts the clocks for silence forward by a delay of the loop's own: what it did not look at was no silence of a server.
    mutating func credit(_ delay: UInt64, now: UInt64) { lastActivity = min(now, lastActivity &+ delay) }
}
