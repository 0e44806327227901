/// The time a run waits for the answer that another one is getting, and what comes then. (pure)
enum FollowLimit: Equatable, Sendable {
    /// As long as it takes.
    case none
    /// It asks the server itself: the other one's server may never answer, and its own clocks have not begun.
    case firstByte(Duration)
    /// The time of the whole run is over, and with it the run.
    case total(Duration)

    /// Chooses the limit that ends first; `total` is what is left of the run's total time.
    init(firstByte: Duration?, total: Duration?) {
        switch (firstByte, total) {
        case (let firstByte?, let total?): self = firstByte < total ? .firstByte(firstByte) : .total(total)
        case (let firstByte?, nil): self = .firstByte(firstByte)
        case (nil, let total?): self = .total(total)
        case (nil, nil): self = .none
        }
    }

    var wait: Duration? {
        switch self {
        case .none: nil
        case .firstByte(let wait), .total(let wait): wait
        }
    }
}
