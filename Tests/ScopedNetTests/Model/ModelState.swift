#if canImport(ScopedNet)
@testable import ScopedNet
#endif

// The model of a run. These files import nothing but the machine they model (`RunLifecycle`, `BagLink`, `RunStage`), so that `swiftc` can compile
// them together with the shipping files of those types, or with mutants of them. `docs/model.md` says what is in it.

/// Everything shared, and where every thread is. Only one-byte fields: the bytes are the state's identity.
struct ModelState {
    var runs: InlineArray<2, RunVars> = [RunVars(), RunVars()]
    var bags: InlineArray<2, BagVars> = [BagVars(), BagVars()]
    var threads = InlineArray<8, ThreadVars>(repeating: ThreadVars())
    /// The delivery executor's items, first in first out.
    var lane = InlineArray<12, UInt8>(repeating: 0)
    var laneCount: UInt8 = 0
    /// The one slot of a configuration with a queue, and whether a request outside the model has it.
    var slotsInUse: UInt8 = 0
    var otherHasSlot = false
    var violation = Violation.none
}

struct RunVars {
    // What the engine has.
    var life = RunLifecycle()
    var machine = RunMachine()
    /// The response that is in hand: a `Setup.Response`.
    var response: UInt8 = 0
    /// The low byte of `RunStage.word`.
    var stage: UInt8 = 0
    var links: InlineArray<2, BagLink> = [.none, .none]
    var memberships: InlineArray<2, Membership> = [.none, .none]
    var epochs: InlineArray<2, UInt8> = [0, 0]
    /// `ScopeMember.bag` is set (a bit for each link); the further bag is in the table.
    var knowsBag: UInt8 = 0
    var hasExtraBag = false
    var hasExtraLink = false
    /// Timers in the table, and timers that are armed, by exchange or wait (a bit each).
    var waits: UInt8 = 0
    var queueTimers: UInt8 = 0
    var waitTimers: UInt8 = 0
    /// The same for whatever else may end a wait.
    var waitPaths: UInt8 = 0
    var exchange: UInt8 = 1
    /// The exchange that waits in the queue, or 0.
    var waiting: UInt8 = 0
    var transfers = InlineArray<5, TransferVars>(repeating: TransferVars())
    var hasJob = false
    var outcome: UInt8 = 0
    var isHeld = false
    var isKeyed = false
    // What is observed.
    /// Steps of the present exchange, a bit each.
    var passed: UInt8 = 0
    var passedInterceptors: UInt8 = 0
    var lookups: UInt8 = 0
    var isServed = false
    var successes: UInt8 = 0
    var failures: UInt8 = 0
    /// Calls after the first that said how it ended.
    var furtherCalls: UInt8 = 0
    var ends: UInt8 = 0
    var destructions: UInt8 = 0
    var retirements: UInt8 = 0
    var isDestroying = false
    var isInCall = false
    /// A cancel returned; nothing may be admitted from then on.
    var isSilent = false
    /// A cancel (or a bag's `cancelAll`) returned; at most the call that was admitted then may still run.
    var isHushed = false
    /// ...and no work may go on.
    var isHalted = false
    /// The end of a bag it was in returned.
    var isSilencedByBag = false
    /// By link, a bit each.
    var wasListed: UInt8 = 0
    /// From an admission to its end: a call may be running.
    var isAdmitted = false
    /// A cancel that stops the work was made.
    var mayStop = false
    /// The reason of the cancel that won, plus one.
    var expectedReason: UInt8 = 0
    var wasAdmittedLate = false
    var driver = Driver.nobody
    /// The end that was said: a reason, or 255 success, 254 failure.
    var endReason: UInt8 = 0
}

enum Membership: UInt8 { case none, listed, taken }

/// Who has the run's drive: one stage at a time.
enum Driver: UInt8 {
    case nobody, over, queue, timer, transfer, job, lane, parked
    case thread0, thread1, thread2, thread3, thread4, thread5, thread6, thread7

    static func thread(_ index: Int) -> Driver { Driver(rawValue: Driver.thread0.rawValue + UInt8(index)) ?? .nobody }
}

struct TransferVars {
    enum Phase: UInt8 { case none, running, done }
    var phase = Phase.none
    var isCancelled = false
    var isPaused = false
    var hasProgressed = false
}

struct BagVars {
    var isLocked = false
    var hasEnded = false
    var isClosed = false
    var epoch: UInt8 = 0
    var count: UInt8 = 0
    var holdsChild = false
    /// An end of it returned.
    var endReturned = false
}

struct ThreadVars {
    var frames = InlineArray<9, Label>(repeating: .done)
    var depth: UInt8 = 0
    var run: UInt8 = 0
    var bag: UInt8 = 0
    var link: UInt8 = 0
    var reason: UInt8 = 0
    var answer = false
    var result: UInt8 = 0
    var exchange: UInt8 = 0
    /// Of a bag's end: the members still to be shut, to be torn down, to be stopped.
    var members: UInt8 = 0
    var taken: UInt8 = 0
    /// The members it has, and those it ever had.
    var past: UInt8 = 0
    var doomed: UInt8 = 0
    var stops: UInt8 = 0
    var round: UInt8 = 0
    var wantsSuspension = false
    /// Of the delivery executor: the calls of this item that have been made.
    var calls: UInt8 = 0
}

/// What is never to happen; the guarantee it would break.
enum Violation: UInt8, CaseIterable {
    case none
    case twoEndings, successTwice, onEndTwice
    case calledAfterCancel, calledAfterBagEnd, calledAfterRetirement, calledWithoutOutcome, calledInBag, callsOverlap, callMissing
    case destroyedTwice, destroyedDuringCall, handlersRace
    case unlinkedTwice, heldTwice, removedUnheld, retiredTwice, tornDownBeforeGates
    case slotReleasedTwice, twoDrivers, transferStartedTwice
    case wrongAnswer, wrongReason, cancelledByNobody, detachedStopped
    case stageBegunAfterCancel, transferNotStopped, leftDuringWork, queueNotLeft, timerNotStopped
    case stepOutOfOrder, stepSkipped, wrongVerdict
    case hangs, neverEnded, noOnEnd, neverDestroyed, stillInBag, stillInAgent, slotKept, timerLeft, transferLeft

    var guarantee: String {
        switch self {
        case .none: "-"
        case .twoEndings, .successTwice, .onEndTwice, .calledWithoutOutcome, .callMissing, .hangs, .neverEnded, .noOnEnd: "G1"
        case .callsOverlap, .twoDrivers, .transferStartedTwice: "G2"
        case .stepOutOfOrder, .stepSkipped, .wrongVerdict: "order"
        case .wrongReason, .cancelledByNobody: "G1"
        case .calledAfterCancel, .wrongAnswer: "G3, G4"
        case .detachedStopped: "G12"
        case .stageBegunAfterCancel, .queueNotLeft, .timerNotStopped, .timerLeft, .slotReleasedTwice, .slotKept: "G5"
        case .destroyedTwice, .destroyedDuringCall, .handlersRace, .neverDestroyed: "G6"
        case .calledAfterBagEnd, .unlinkedTwice, .tornDownBeforeGates, .stillInBag: "G8"
        case .transferNotStopped, .leftDuringWork, .transferLeft: "G10, G12"
        case .calledAfterRetirement, .calledInBag, .removedUnheld, .retiredTwice, .stillInAgent, .heldTwice: "G11, G13"
        }
    }
}

/// One configuration of the model: who takes part and what the network does.
struct Setup {
    enum Release: UInt8 { case untilFinished, cancelOnRelease, detached }
    /// An answer of the server. Most could be taken over by more than one verdict.
    enum Response: UInt8 {
        case ok, okDecoded, failure, redirect, retryNow, retryLater
        /// A 401 in place of a value, with somebody who has credentials.
        case challenge
        /// An error page of another type, and a page of another type.
        case refused, otherType
        /// An error that nothing is tried again for, and something stored in its place.
        case stale
        /// A 304; and a 304 that fits nothing that is stored.
        case notModified, useless
        /// The rest of another file.
        case misfit
        /// An error page that the interceptors of the call make a success of.
        case intercepted
    }
    enum Role: UInt8 {
        case nobody, starter0, starter1, cancel, cancelAgain, dropHandle, shutdown, endBag, endParent, endBagDeferred, background,
            cancelAllInBag, join, lane,
            network, worker, timer, path, suspender, otherRequest, agentCancelAll
    }

    var roles = InlineArray<8, Role>(repeating: .nobody)
    var script: InlineArray<4, Response> = [.ok, .ok, .ok, .ok]
    var release = Release.untilFinished
    var usesBag = false
    /// Bag 1 is a child of bag 0, and the run is in bag 1.
    var isChild = false
    var hasOnEnd = true
    /// How many closures each event and each outcome has.
    var closures: UInt8 = 1
    var hasProgress = false
    var hasQueue = false
    var isQueueFull = false
    var hasQueueTimeout = false
    var replacesOldest = false
    /// The success call ends the bag; the progress call cancels its run.
    var cancelsInCall = false
    var failsPreparation = false
    var suspensions: UInt8 = 1
    /// A download: its target is claimed first, and its part seen to.
    var claimsTarget = false
    /// Interceptors of the call and of its exchange have their turns.
    var intercepts = false
    /// A refresh of something stored, which begins with its exchange.
    var isRefresh = false
    /// The first exchange waits for a path.
    var waitsForPath = false
    /// A wait may be ended by something else than its timer, too.
    var hasPath = false
    /// The contents of the cache: nothing, a response that is read from a disk, one that is told first, one that is lost meanwhile; or the answer is
    /// that of another run.
    enum Cache: UInt8 { case none, stored, missed, first, lost, shared }
    var cache = Cache.none
    /// Waits for a path, and for another run, take too long.
    var expires = false
    /// The run is in agent and bag already; only its begin is to come.
    var isPlaced = false

    var runCount: Int { roles.contains(.starter1) ? 2 : 1 }
    /// Of the run's own membership, and of the further one.
    func bag(_ link: Int) -> Int { link == 0 ? (isChild ? 1 : 0) : 1 }

    var numbers: Range<Int> { roles.indices }

    /// True if anybody takes part who may cancel a run.
    var canCancel: Bool {
        if replacesOldest || cancelsInCall { return true }
        for index in roles.indices {
            switch roles[index] {
            case .nobody, .starter0, .starter1, .join, .background, .lane, .network, .worker, .timer, .path, .suspender, .otherRequest:
                continue
            default: return true
            }
        }
        return false
    }
}

extension InlineArray where Element: Equatable {
    func contains(_ element: Element) -> Bool {
        for index in indices where self[index] == element { return true }
        return false
    }
}

/// Numbers of `CancelReason.Name`.
enum Reason {
    static let explicit: UInt8 = 0
    static let ownerReleased: UInt8 = 1
    static let requestReleased: UInt8 = 2
    static let replaced: UInt8 = 3
    static let shutdown: UInt8 = 5
    static let succeeded: UInt8 = 255
    static let failed: UInt8 = 254
}

extension Setup.Response: ResponseFacts {
    /// The verdicts that would take it over, in the order in which they have to be asked. Written down here once more, on purpose.
    var takers: [ResponseVerdict] {
        switch self {
        case .ok, .okDecoded: [.acceptance]
        case .failure: [.failure, .status]
        case .redirect: [.redirect, .retry, .status]
        case .retryNow: [.retry, .storedResponse, .failure, .status]
        case .retryLater: [.retry, .status]
        case .challenge: [.challenge, .retry, .status, .contentType]
        case .refused: [.status, .contentType]
        case .otherType: [.contentType, .acceptance]
        case .stale: [.storedResponse, .failure, .status]
        case .intercepted: [.interception, .status]
        case .notModified, .useless, .misfit: []
        }
    }

    package var isResponse: Bool { ![.failure, .retryNow, .stale].contains(self) }
    package var isRedirection: Bool { self == .redirect }
    package var canAuthenticate: Bool { self == .challenge }
    // One of the network would be tried again first.
    package var isFromNetwork: Bool { self != .intercepted }
    package var isIntercepted: Bool { self == .intercepted }
    package var isPartHeld: Bool { false }
    package var isStatusAccepted: Bool { [.ok, .okDecoded, .otherType, .notModified, .useless, .misfit].contains(self) }
    package var isTypeAccepted: Bool { ![.otherType, .refused, .challenge].contains(self) }
}
