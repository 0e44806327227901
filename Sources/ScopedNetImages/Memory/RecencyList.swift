/// Values by their key, in the order in which they were used (pure).
///
/// A dictionary and a doubly linked list in one array: finding, using, replacing and removing are O(1), and nothing is allocated for a hit. Small links and
/// nodes that are not optional: a hit is looked up in a list of thousands, and costs what it reads.
struct RecencyList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Node: Sendable {
        var key: Key?
        var value: Value?
        var cost: Int
        var older = none
        var newer = none
    }

    /// The end of the list.
    private static var none: Int32 { -1 }

    private var places: [Key: Int32] = [:]
    private var nodes: [Node] = []
    private var free: [Int32] = []
    private var oldest = none
    private var newest = none
    /// The sum of all costs.
    private(set) var cost = 0
    var count: Int { places.count }

    /// Finds a value, and makes it the one that was used last.
    mutating func use(_ key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            link(place)
        }
        return nodes[Int(place)].value
    }

    /// Puts a value in place of one with the same key.
    ///
    /// - Returns: the old one.
    mutating func put(_ value: Value, cost: Int, for key: Key) -> Value? {
        let old = remove(key)
        let node = Node(key: key, value: value, cost: cost)
        let place: Int32
        if let known = free.popLast() {
            place = known
            nodes[Int(place)] = node
        } else {
            place = Int32(nodes.count)
            nodes.append(node)
        }
        places[key] = place
        link(place)
        self.cost += cost
        return old
    }

    mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key) else { return nil }
        unlink(place)
        let node = nodes[Int(place)]
        // The things in it go now, and not with the next value in this place.
        (nodes[Int(place)].key, nodes[Int(place)].value) = (nil, nil)
        free.append(place)
        cost -= node.cost
        return node.value
    }

    /// Removes the values that were not used for longest, until no more than `most` is left.
    mutating func trim(to most: Int) -> [Value] {
        var removed: [Value] = []
        while cost > most, oldest != Self.none, let key = nodes[Int(oldest)].key {
            if let value = remove(key) { removed.append(value) }
        }
        return removed
    }

    /// The keys, the one used last at the end.
    var keys: [Key] {
        var (keys, place) = ([Key](), oldest)
        while place != Self.none {
            let node = nodes[Int(place)]
            if let key = node.key { keys.append(key) }
            place = node.newer
        }
        return keys
    }

    private mutating func unlink(_ place: Int32) {
        let (older, newer) = (nodes[Int(place)].older, nodes[Int(place)].newer)
        if older == Self.none { oldest = newer } else { nodes[Int(older)].newer = newer }
        if newer == Self.none { newest = older } else { nodes[Int(newer)].older = older }
    }

    private mutating func link(_ place: Int32) {
        nodes[Int(place)].older = newest
        nodes[Int(place)].newer = Self.none
        if newest == Self.none { oldest = place } else { nodes[Int(newest)].newer = place }
        newest = place
    }
}
