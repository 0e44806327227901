import ScopedNet

/// Permits for a few at a time, the most urgent first (pure).
///
/// Those who hold one are a set, and not a count: one who was never granted a permit cannot give one back. Of equal priority the order decides; one that
/// becomes more urgent goes behind those who are so already, one that becomes less urgent before them.
struct PermitLine<ID: Hashable & Sendable>: Sendable {
    private struct Place: Sendable {
        var priority: Priority
        /// The one of its entries that counts; those of earlier priorities are passed over.
        var ticket: Int
    }

    private let limit: Int
    private let order: ImageOrder
    private var places: [ID: Place] = [:]
    private var buckets = [Bucket<ID>](repeating: Bucket(), count: Priority.allCases.count)
    private var tickets = 0
    private(set) var holders: Set<ID> = []

    init(limit: Int, order: ImageOrder = .firstInFirstOut) { (self.limit, self.order) = (max(1, limit), order) }

    var waitingCount: Int { places.count }

    /// Asks for a permit.
    ///
    /// - Returns: true where there is one at once. Asking again changes nothing.
    mutating func ask(_ id: ID, _ priority: Priority) -> Bool {
        guard places[id] == nil, !holders.contains(id) else { return holders.contains(id) }
        if holders.count < limit {
            holders.insert(id)
            return true
        }
        enter(id, priority, atBack: order == .firstInFirstOut)
        return false
    }

    mutating func setPriority(_ priority: Priority, of id: ID) {
        guard let place = places[id], place.priority != priority else { return }
        enter(id, priority, atBack: (place.priority < priority) == (order == .firstInFirstOut))
    }

    /// Leaves the line, or gives a permit back.
    ///
    /// - Returns: the one who has that permit now.
    mutating func leave(_ id: ID) -> ID? {
        if places.removeValue(forKey: id) != nil { return nil }
        guard holders.remove(id) != nil else { return nil }
        return grantNext()
    }

    private mutating func enter(_ id: ID, _ priority: Priority, atBack: Bool) {
        tickets += 1
        places[id] = Place(priority: priority, ticket: tickets)
        buckets[Int(priority.level)].insert(id, tickets, atBack: atBack)
    }

    private mutating func grantNext() -> ID? {
        for level in buckets.indices.reversed() {
            while let (id, ticket) = buckets[level].popFirst() {
                guard places[id]?.ticket == ticket else { continue }
                places[id] = nil
                holders.insert(id)
                return id
            }
        }
        return nil
    }
}

/// Those of one priority, the next one at the front; some of them have gone.
private struct Bucket<ID: Hashable & Sendable>: Sendable {
    private typealias Entry = (id: ID, ticket: Int)
    /// The front, the next one last.
    private var front: [Entry] = []
    private var back: [Entry] = []

    mutating func insert(_ id: ID, _ ticket: Int, atBack: Bool) {
        if atBack { back.append((id, ticket)) } else { front.append((id, ticket)) }
    }

    mutating func popFirst() -> (id: ID, ticket: Int)? {
        if front.isEmpty {
            front = back.reversed()
            back = []
        }
        return front.popLast()
    }
}
