/// A dictionary that keeps to a number of bytes by letting go of what was used longest ago. Every operation is O(1). Pure.
///
/// Nodes lie in one array and name each other by index: no object for each, and nothing to trace. What leaves is handed to the caller, who
/// releases it outside any lock.
struct MemoryLRU<Key: Hashable, Value> {
    fileprivate struct Node {
        var key: Key
        /// Nil in a node that is free.
        var value: Value?
        var cost: Int
        var newer: Int32
        var older: Int32
    }

    private static var none: Int32 { -1 }

    private var nodes: ContiguousArray<Node> = []
    private var places: [Key: Int32] = [:]
    private var free: [Int32] = []
    private var newest = Self.none
    private var oldest = Self.none

    private(set) var cost = 0
    /// In bytes. Set lower, it holds from the next `evict` on.
    var capacity: Int

    var count: Int { places.count }
    var keys: some Sequence<Key> { places.keys }

    init(capacity: Int) { self.capacity = capacity }

    /// The value, which counts as used now. `change` may alter it in place.
    mutating func use<Result>(_ key: Key, _ change: (inout Value) -> Result) -> Result? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            linkAsNewest(place)
        }
        return nodes[Int(place)].value.mutate(change)
    }

    /// The value, without any trace of the look.
    func peek(_ key: Key) -> Value? { places[key].flatMap { nodes[Int($0)].value } }

    /// Puts the value in as the newest.
    /// - Returns: the value it replaces.
    @discardableResult
    mutating func insert(_ value: Value, for key: Key, cost newCost: Int) -> Value? {
        if let place = places[key] {
            let former = nodes[Int(place)].value
            nodes[Int(place)].value = value
            cost += newCost - nodes[Int(place)].cost
            nodes[Int(place)].cost = newCost
            if place != newest {
                unlink(place)
                linkAsNewest(place)
            }
            return former
        }
        let node = Node(key: key, value: value, cost: newCost, newer: Self.none, older: Self.none)
        let place: Int32
        if let reused = free.popLast() {
            place = reused
            nodes[Int(place)] = node
        } else {
            place = Int32(nodes.count)
            nodes.append(node)
        }
        places[key] = place
        cost += newCost
        linkAsNewest(place)
        return nil
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        unlink(place)
        let value = nodes[Int(place)].value
        cost -= nodes[Int(place)].cost
        nodes[Int(place)].value = nil
        nodes[Int(place)].cost = 0
        free.append(place)
        return value
    }

    /// Lets go of the oldest until what is left costs no more than `limit`, or than the capacity.
    mutating func evict(downTo limit: Int? = nil) -> [Value] {
        let limit = limit ?? capacity
        guard cost > limit else { return [] }
        var gone: [Value] = []
        while cost > limit, oldest != Self.none {
            if let value = remove(nodes[Int(oldest)].key) { gone.append(value) }
        }
        return gone
    }

    /// Lets go of everything, and of the room it took.
    mutating func removeAll() -> [Value] {
        let gone = nodes.compactMap(\.value)
        self = MemoryLRU(capacity: capacity)
        return gone
    }

    private mutating func unlink(_ place: Int32) {
        let node = nodes[Int(place)]
        if node.newer == Self.none { newest = node.older } else { nodes[Int(node.newer)].older = node.older }
        if node.older == Self.none { oldest = node.newer } else { nodes[Int(node.older)].newer = node.newer }
    }

    private mutating func linkAsNewest(_ place: Int32) {
        nodes[Int(place)].newer = Self.none
        nodes[Int(place)].older = newest
        if newest == Self.none { oldest = place } else { nodes[Int(newest)].newer = place }
        newest = place
    }
}

extension MemoryLRU: Sendable where Key: Sendable, Value: Sendable {}
extension MemoryLRU.Node: Sendable where Key: Sendable, Value: Sendable {}

extension Optional {
    /// In place, without a copy of the value.
    @inline(__always)
    fileprivate mutating func mutate<Result>(_ change: (inout Wrapped) -> Result) -> Result? {
        guard self != nil else { return nil }
        return change(&self!)
    }
}
