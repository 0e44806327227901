import ScopedNet

/// The runs that use the network at this moment (pure): a set of ids, from the start of a transfer to its end. Waiting for a place in the queue, for the
/// next attempt or for the network is no use of it, and neither is a suspended transfer.
struct ActiveRuns: Sendable {
    /// A step of a run, as far as it matters here.
    enum Step: Sendable, Hashable {
        case started, waiting, suspended, resumed, ended

        /// The step of an event; nil for others.
        init?(_ kind: RequestEvent.Kind) {
            switch kind {
            case .started: self = .started
            // A connection that was dead is replaced within an attempt: not each retry is another one.
            case .waitingForConnectivity, .rateLimited, .queued, .attemptFinished: self = .waiting
            case .suspended: self = .suspended
            case .resumed: self = .resumed
            case .finished, .cancelled: self = .ended
            default: return nil
            }
        }
    }

    private var started: Set<UInt64> = []
    private var suspended: Set<UInt64> = []
    /// The runs whose transfers go on.
    private(set) var ids: Set<UInt64> = []

    /// Takes a step of a run; steps that do not fit the state of the run change nothing.
    ///
    /// - Returns: true where ``ids`` is another set.
    mutating func take(_ step: Step, of id: UInt64) -> Bool {
        switch step {
        case .started: started.insert(id)
        case .waiting: started.remove(id)
        case .suspended: suspended.insert(id)
        case .resumed: suspended.remove(id)
        case .ended:
            started.remove(id)
            suspended.remove(id)
        }
        let isActive = started.contains(id) && !suspended.contains(id)
        return isActive ? ids.insert(id).inserted : ids.remove(id) != nil
    }
}
