// Pure: no clock, lock, thread or import. The model check and its mutants compile this very file.

/// The life of one run, as the one atomic word that orders its calls and its cancellation.
///
/// ```
///            start          admitCall            endCall
///   created ──────▶ open ────────────▶ calling ────────────▶ open
///      │             │ │                  │ cancel
///      │ cancel      │ │ admitEnding      ▼
///      ▼      cancel │ ▼            cancelRequested ─endCall─▶ cancelled
///   cancelled ◀──────┘ ending ──────end──────▶ ended
///                        │ cancel                ▲
///                        └──────▶ silenced ─end──┘
/// ```
///
/// Each call is admitted for itself. `admitEnding` admits the first of those that say how the run ended, and fixes that; `admitFurtherCall`
/// admits each other one, and none after a cancel.
///
/// Every transition is one compare-and-swap by the caller: it loads the word, asks this type, and stores the answer if the word
/// has not moved. Who wins the step to `ending` or `cancelled` owns the run's handlers from then on.
///
/// A detached run that is cancelled by a release is `cancelled` and `goesOn`: nothing is called any more, its work is done to the end. A
/// second cancel, of a kind that stops the work, takes `goesOn` away; it is one word, so no stage can miss that.
///
/// The flags are what else any thread may have to know, or to change, in the same step: a suspension, the leading of others, and the parts of the
/// way out of the agent.
package struct RunLifecycle: Equatable, Hashable, Sendable {
    package enum Phase: UInt8, Sendable {
        case created, open, calling, cancelRequested, ending, ended, cancelled, silenced
    }

    package var phase: Phase
    /// Meaningful in `cancelRequested` and `cancelled` only: the number of a `CancelReason`.
    package var reason: UInt8
    /// Meaningful in the same two: the work is not stopped.
    package var goesOn: Bool
    /// The transfer is held up, or will be.
    package private(set) var isSuspended = false
    /// Others may wait for the answer that it is getting.
    package private(set) var isLeading = false
    /// After a cancel: nothing is left to be called.
    package private(set) var isSilent = false
    /// After a cancel: the work came to its end, or was stopped.
    package private(set) var isWorkOver = false
    /// Its bag counts it among those that are being delivered.
    package private(set) var isCounted = false
    /// It has left the agent, or is about to.
    package private(set) var isRetired = false

    package init(phase: Phase = .created, reason: UInt8 = 0, goesOn: Bool = false) {
        self.phase = phase
        self.reason = reason
        self.goesOn = goesOn
    }

    package init(word: UInt64) {
        // The word is only ever written by `word` below.
        phase = Phase(rawValue: UInt8(truncatingIfNeeded: word)) ?? .cancelled
        reason = UInt8(truncatingIfNeeded: word >> 8)
        goesOn = word & 1 << 16 != 0
        isSuspended = word & 1 << 17 != 0
        isLeading = word & 1 << 18 != 0
        isSilent = word & 1 << 19 != 0
        isWorkOver = word & 1 << 20 != 0
        isCounted = word & 1 << 21 != 0
        isRetired = word & 1 << 22 != 0
    }

    package var word: UInt64 {
        func bit(_ flag: Bool, _ place: UInt64) -> UInt64 { flag ? 1 << place : 0 }
        let flags = bit(goesOn, 16) | bit(isSuspended, 17) | bit(isLeading, 18) | bit(isSilent, 19) | bit(isWorkOver, 20)
        return UInt64(phase.rawValue) | UInt64(reason) << 8 | flags | bit(isCounted, 21) | bit(isRetired, 22)
    }

    // MARK: Events

    package enum StartAction: Sendable { case proceed, refuse }

    package mutating func start() -> StartAction {
        switch phase {
        case .created: phase = .open; return .proceed
        case .open, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced: return .refuse
        }
    }

    package enum CancelAction: Sendable {
        /// The caller owns the handlers and tears the run down.
        case tearDown
        /// The thread that is inside the call will do it when the call returns.
        case leaveToCaller
        /// The outcome is being told: a call that was admitted cannot be recalled, and no further one is.
        case tooLate
        /// Cancelled before, with its work left going on; that is stopped now.
        case stopWork
        case alreadyEnded
    }

    /// Cancels the run. With `keepsWork` its transfer goes on in silence; never so before the start: there is no work then.
    package mutating func cancel(reason: UInt8, keepsWork: Bool = false) -> CancelAction {
        switch phase {
        case .created:
            phase = .cancelled
            self.reason = reason
            return .tearDown
        case .open:
            phase = .cancelled
            self.reason = reason
            goesOn = keepsWork
            return .tearDown
        case .calling:
            phase = .cancelRequested
            self.reason = reason
            goesOn = keepsWork
            return .leaveToCaller
        case .cancelRequested:
            goesOn = goesOn && keepsWork
            return .leaveToCaller
        case .ending: phase = .silenced; return .tooLate
        case .silenced: return .tooLate
        case .ended: return .alreadyEnded
        case .cancelled:
            guard goesOn, !keepsWork else { return .alreadyEnded }
            goesOn = false
            return .stopWork
        }
    }

    package enum Admission: Sendable { case admitted, refused }

    /// Before a call that is not the last (progress, head, events).
    package mutating func admitCall() -> Admission {
        switch phase {
        case .open: phase = .calling; return .admitted
        case .created, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced: return .refused
        }
    }

    package enum CallEndAction: Sendable { case goOn, tearDown }

    package mutating func endCall() -> CallEndAction {
        switch phase {
        case .calling: phase = .open; return .goOn
        case .cancelRequested: phase = .cancelled; return .tearDown
        case .created, .open, .ending, .ended, .cancelled, .silenced: return .goOn
        }
    }

    /// Before the first call that says how the run ended. A result that has arrived but is not admitted loses to cancel.
    package mutating func admitEnding() -> Admission {
        switch phase {
        case .open: phase = .ending; return .admitted
        case .created, .calling, .cancelRequested, .ending, .ended, .cancelled, .silenced: return .refused
        }
    }

    /// Before each other call that says how the run ended. Asks and changes nothing: the word orders it with a cancel.
    package func admitFurtherCall() -> Admission {
        switch phase {
        case .ending: return .admitted
        case .created, .open, .calling, .cancelRequested, .ended, .cancelled, .silenced: return .refused
        }
    }

    package mutating func end() {
        switch phase {
        case .ending, .silenced: phase = .ended
        case .created, .open, .calling, .cancelRequested, .ended, .cancelled: break
        }
    }

    /// The shared gate of a bag was found closed right after an admission: nothing was called yet, so the run ends cancelled.
    package mutating func withdrawAdmission(reason: UInt8, keepsWork: Bool = false) {
        switch phase {
        case .calling, .ending, .silenced:
            phase = .cancelled
            self.reason = reason
            goesOn = keepsWork
        case .cancelRequested:
            phase = .cancelled
        case .created, .open, .ended, .cancelled: break
        }
    }

    // MARK: Suspending

    package enum SuspensionAction: Sendable { case changed, unchanged }

    /// Holds the transfer up, or lets it go on. A run that goes on for others after a cancel is not suspended: nobody is left to resume it.
    package mutating func setSuspended(_ value: Bool, isDetached: Bool) -> SuspensionAction {
        guard value != isSuspended else { return .unchanged }
        if value, isMuted, !isDetached { return .unchanged }
        isSuspended = value
        return .changed
    }

    // MARK: Leading others

    package mutating func lead() { isLeading = true }

    package enum EndLeadingAction: Sendable { case tellOthers, nothing }

    package mutating func endLeading() -> EndLeadingAction {
        guard isLeading else { return .nothing }
        isLeading = false
        return .tellOthers
    }

    // MARK: Leaving the agent

    package enum DepartureAction: Sendable { case wait, retire }

    /// A cancelled run leaves the agent when its last word is said and no work goes on; whichever is last takes it out.
    package mutating func sayLastWord() -> DepartureAction {
        isSilent = true
        if isMuted, !isWorkOver { return .wait }
        return .retire
    }

    /// The work of a muted run came to its end or was stopped.
    package mutating func endWork() -> DepartureAction {
        isWorkOver = true
        guard isSilent else { return .wait }
        return .retire
    }

    /// Before the run leaves its bags for its last calls.
    package mutating func count() { isCounted = true }

    package enum RetireAction: Sendable { case leave, alreadyLeft }

    /// The run's last step. Several may come to it; the first takes the run out of the agent.
    package mutating func retire() -> RetireAction {
        guard !isRetired else { return .alreadyLeft }
        isRetired = true
        return .leave
    }

    // MARK: Questions

    package var isOver: Bool { phase == .ended || phase == .cancelled }

    /// The outcome is being told.
    package var isEnding: Bool { phase == .ending || phase == .silenced }

    /// The gates are closed and the work goes on.
    package var isMuted: Bool { phase == .cancelled && goesOn }

    /// Whether a next stage may begin.
    package var mayGoOn: Bool {
        switch phase {
        case .created, .open, .calling, .ending, .silenced: true
        case .cancelRequested, .cancelled: goesOn
        case .ended: false
        }
    }
}
