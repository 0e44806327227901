/// When a probe is run (pure): once for each path of a started monitor, and for its first path after every start.
struct ProbeSchedule: Equatable {
    /// What has to be done, and for which turn: a probe that was begun for another turn is not to be kept.
    enum Action: Equatable {
        case none, cancel
        case probe(turn: UInt64)
    }

    private var isStarted = false
    /// How many starts and stops there were when the newest one heard of was made.
    private var life: UInt64 = 0
    /// The newest path that was considered since the start.
    private var generation: UInt64 = 0
    private var turn: UInt64 = 0

    /// Takes in that the monitor was started or stopped, which two threads may tell of in the wrong order: the higher count is right.
    mutating func follow(life: UInt64, isStarted: Bool) -> Action {
        guard life > self.life else { return .none }
        self.life = life
        self.isStarted = isStarted
        generation = 0
        turn += 1
        // Also at a start: the stop before it may have been overtaken.
        return .cancel
    }

    /// The monitor's thread and the one that starts may tell of the same path, or of two in the wrong order.
    mutating func pathDidChange(_ path: NetworkPath) -> Action {
        // Its own verdict is a change too, and none that asks for a probe.
        guard isStarted, path.generation > generation, path.validation == .unknown else { return .none }
        generation = path.generation
        turn += 1
        return path.isSatisfied ? .probe(turn: turn) : .cancel
    }

    func isCurrent(turn: UInt64) -> Bool { isStarted && turn == self.turn }
}
