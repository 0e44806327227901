import ScopedNet

/// Permits for a few at a time, the most urgent first (pure).
///
/// Those who hold one are a set, and not a count: one that was never granted a permit cannot give one back. Numbers say who came first: of equal priority
/// they decide, and not the moment at which some thread came so far.
struct PermitLine<Number: Hashable & Comparable & Sendable>: Sendable {
    private let limit: Int
    private let order: ImageOrder
    private var priorities: [Number: Priority] = [:]
    /// Those that wait, by priority; in each ascending.
    private var waiting = [[Number]](repeating: [], count: Priority.allCases.count)
    private(set) var holders: Set<Number> = []

    init(limit: Int, order: ImageOrder = .firstInFirstOut) { (self.limit, self.order) = (max(1, limit), order) }

    var waitingCount: Int { priorities.count }

    /// Asks for a permit.
    ///
    /// - Returns: true where there is one at once. Asking again changes nothing.
    mutating func ask(_ number: Number, _ priority: Priority) -> Bool {
        guard priorities[number] == nil, !holders.contains(number) else { return holders.contains(number) }
        if holders.count < limit {
            holders.insert(number)
            return true
        }
        enter(number, priority)
        return false
    }

    mutating func setPriority(_ priority: Priority, of number: Number) {
        guard let old = priorities[number], old != priority else { return }
        remove(number, old)
        enter(number, priority)
    }

    /// Leaves the line, or gives a permit back.
    ///
    /// - Returns: the one that has that permit now.
    mutating func leave(_ number: Number) -> Number? {
        if let priority = priorities[number] {
            remove(number, priority)
            return nil
        }
        guard holders.remove(number) != nil, let (next, priority) = next() else { return nil }
        remove(next, priority)
        holders.insert(next)
        return next
    }

    private func next() -> (Number, Priority)? {
        for priority in Priority.allCases.sorted().reversed() {
            let equals = waiting[Int(priority.level)]
            if let next = order == .firstInFirstOut ? equals.first : equals.last { return (next, priority) }
        }
        return nil
    }

    private mutating func enter(_ number: Number, _ priority: Priority) {
        priorities[number] = priority
        waiting[Int(priority.level)].insert(number, at: place(of: number, priority))
    }

    private mutating func remove(_ number: Number, _ priority: Priority) {
        priorities[number] = nil
        waiting[Int(priority.level)].remove(at: place(of: number, priority))
    }

    /// The first place whose number is not below it.
    private func place(of number: Number, _ priority: Priority) -> Int {
        let equals = waiting[Int(priority.level)]
        var (low, high) = (0, equals.count)
        while low < high {
            let middle = (low + high) / 2
            if equals[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
