/// What was invalidated, and when, in an order of its own: enough to tell whether something fetched before may still be stored. Pure.
///
/// Bounded: beyond its limit it forgets the older half, and then refuses tickets from before that. A refused put costs a fetch later; one
/// wrongly stored would bring back what was invalidated.
struct InvalidationLog: Sendable {
    private(set) var position: UInt64 = 0
    /// Tickets below are refused.
    private var floor: UInt64 = 0
    private var keys: [EntryKey: UInt64] = [:]
    private var partitions: [ExactString: UInt64] = [:]
    private let limit: Int

    init(limit: Int = 4096) { self.limit = limit }

    mutating func record(_ key: EntryKey) {
        position += 1
        keys[key] = position
        forgetIfNeeded()
    }

    mutating func record(partition: String) {
        position += 1
        partitions[ExactString(partition)] = position
        forgetIfNeeded()
    }

    mutating func recordAll() {
        position += 1
        floor = position
        keys = [:]
        partitions = [:]
    }

    /// Whether nothing that concerns the key was invalidated since the log stood at `start`.
    func isCurrent(_ key: EntryKey, since start: UInt64) -> Bool {
        start >= floor && keys[key, default: 0] <= start && partitions[ExactString(key.partition), default: 0] <= start
    }

    private mutating func forgetIfNeeded() {
        guard keys.count + partitions.count > limit else { return }
        let positions = (Array(keys.values) + Array(partitions.values)).sorted()
        floor = positions[positions.count / 2]
        keys = keys.filter { $0.value > floor }
        partitions = partitions.filter { $0.value > floor }
    }
}
