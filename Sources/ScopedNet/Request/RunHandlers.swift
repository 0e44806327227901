/// How the work of a run ended.
package typealias RunOutcome = Result<AnyResponse, NetworkError>

/// The closures of one run. Moved out and destroyed exactly once, by whoever wins the run's last step: not copyable, so that no second
/// reference to a closure can stay behind, and none is counted on the way.
package struct RunHandlers: ~Copyable, Sendable {
    package var success: HandlerList<AnyResponse> = .none
    package var failure: HandlerList<NetworkError> = .none
    package var end: HandlerList<EndReason> = .none
    /// What most runs do not have, kept out of the way of those.
    private var rare: Rare?
    /// Resumes an `await`; called in every ending.
    package var resolve: (@Sendable (RunOutcome) -> Void)?

    private final class Rare: @unchecked Sendable {
        // Safety: belongs to the one `RunHandlers` that holds it; handlers are moved from place to place, and changed only while a request arms
        // them, under its lock.
        var head: HandlerList<ResponseHead> = .none
        var cached: HandlerList<AnyResponse> = .none
        var sent: HandlerList<TransferProgress> = .none
        var received: HandlerList<TransferProgress> = .none
        var delegate: DelegateReference?
        var hooks: HookBox?
        var observer: (any RequestObserver)?
        var bodyWatch: BodyWatch?
    }

    package init() {}

    /// Moves everything out.
    package mutating func take() -> RunHandlers {
        var taken = RunHandlers()
        swap(&taken, &self)
        return taken
    }

    package var head: HandlerList<ResponseHead> {
        get { rare?.head ?? .none }
        set { withRare { $0.head = newValue } }
    }
    package var cached: HandlerList<AnyResponse> {
        get { rare?.cached ?? .none }
        set { withRare { $0.cached = newValue } }
    }
    package var sent: HandlerList<TransferProgress> {
        get { rare?.sent ?? .none }
        set { withRare { $0.sent = newValue } }
    }
    package var received: HandlerList<TransferProgress> {
        get { rare?.received ?? .none }
        set { withRare { $0.received = newValue } }
    }
    package var delegate: DelegateReference? {
        get { rare?.delegate }
        set { if newValue != nil || rare != nil { withRare { $0.delegate = newValue } } }
    }

    /// On their way to the run, which keeps them elsewhere.
    package var hooks: HookBox? {
        get { rare?.hooks }
        set { if newValue != nil || rare != nil { withRare { $0.hooks = newValue } } }
    }

    /// Of the run alone; told after the session's.
    package var observer: (any RequestObserver)? {
        get { rare?.observer }
        set { if newValue != nil || rare != nil { withRare { $0.observer = newValue } } }
    }

    /// On its way to the run, which keeps it elsewhere.
    package var bodyWatch: BodyWatch? {
        get { rare?.bodyWatch }
        set { if newValue != nil || rare != nil { withRare { $0.bodyWatch = newValue } } }
    }

    private mutating func withRare(_ change: (Rare) -> Void) {
        let rare = rare ?? Rare()
        self.rare = rare
        change(rare)
    }

    /// Where the run delivers: the delegate's place, else that of the first closure that has one.
    package var preferredLane: DeliveryLane? {
        let common = success.firstLane ?? failure.firstLane ?? end.firstLane
        guard let rare else { return common }
        return rare.delegate?.lane ?? common ?? rare.received.firstLane ?? rare.sent.firstLane ?? rare.head.firstLane
            ?? rare.cached.firstLane
    }

    package func fits(_ lane: DeliveryLane) -> Bool {
        guard success.fits(lane), failure.fits(lane), end.fits(lane) else { return false }
        guard let rare else { return true }
        if let delegate = rare.delegate, let own = delegate.lane, own !== lane { return false }
        return rare.head.fits(lane) && rare.sent.fits(lane) && rare.received.fits(lane) && rare.cached.fits(lane)
    }
}

/// How a run ended; what `onEnd` is told.
public enum EndReason: Sendable {
    /// The value was delivered.
    case succeeded
    /// The final error was delivered.
    case failed(NetworkError)
    /// The run was cancelled, for this reason; neither success nor failure was called.
    case cancelled(CancelReason)

    /// True for a cancellation, whatever the reason.
    public var isCancelled: Bool { if case .cancelled = self { true } else { false } }
}

extension RunHandlers {
    /// Only an `await` listens.
    var isOtherwiseEmpty: Bool {
        success.isEmpty && failure.isEmpty && cached.isEmpty && head.isEmpty && sent.isEmpty && received.isEmpty && end.isEmpty
            && delegate == nil
    }
}

extension RunHandlers {
    /// Adds the closures of a start to those that the request has armed.
    mutating func merge(_ other: consuming RunHandlers) {
        func add<Payload: Sendable>(_ list: inout HandlerList<Payload>, _ more: HandlerList<Payload>) {
            if list.isEmpty { list = more } else { more.forEach { list.append($0) } }
        }
        add(&success, other.success)
        add(&failure, other.failure)
        if !other.cached.isEmpty { add(&cached, other.cached) }
        if !other.head.isEmpty { add(&head, other.head) }
        if !other.sent.isEmpty { add(&sent, other.sent) }
        if !other.received.isEmpty { add(&received, other.received) }
        add(&end, other.end)
        if let own = other.observer { observer = own }
        resolve = other.resolve ?? resolve
    }
}
