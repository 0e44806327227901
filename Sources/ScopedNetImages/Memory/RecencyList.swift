/// Values by their key, in the order in which they were used (pure).
///
/// A dictionary and a doubly linked list in one array: finding, using, replacing and removing are O(1), and nothing is allocated for a hit.
struct RecencyList<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Node: Sendable {
        var key: Key
        var value: Value
        var cost: Int
        var older: Int?
        var newer: Int?
    }

    private var places: [Key: Int] = [:]
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var oldest: Int?
    private var newest: Int?
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
        return nodes[place]?.value
    }

    /// Puts a value in place of one with the same key.
    ///
    /// - Returns: the old one.
    mutating func put(_ value: Value, cost: Int, for key: Key) -> Value? {
        let old = remove(key)
        let node = Node(key: key, value: value, cost: cost)
        let place: Int
        if let known = free.popLast() {
            place = known
            nodes[place] = node
        } else {
            place = nodes.count
            nodes.append(node)
        }
        places[key] = place
        link(place)
        self.cost += cost
        return old
    }

    mutating func remove(_ key: Key) -> Value? {
        guard let place = places.removeValue(forKey: key), let node = nodes[place] else { return nil }
        unlink(place)
        nodes[place] = nil
        free.append(place)
        cost -= node.cost
        return node.value
    }

    /// Removes the values that were not used for longest, until no more than `most` is left.
    mutating func trim(to most: Int) -> [Value] {
        var removed: [Value] = []
        while cost > most, let place = oldest, let key = nodes[place]?.key {
            if let value = remove(key) { removed.append(value) }
        }
        return removed
    }

    /// The keys, the one used last at the end.
    var keys: [Key] {
        var (keys, place) = ([Key](), oldest)
        while let current = place, let node = nodes[current] {
            keys.append(node.key)
            place = node.newer
        }
        return keys
    }

    private mutating func unlink(_ place: Int) {
        guard let node = nodes[place] else { return }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
        nodes[place]?.older = nil
        nodes[place]?.newer = nil
    }

    private mutating func link(_ place: Int) {
        nodes[place]?.older = newest
        nodes[place]?.newer = nil
        if let newest { nodes[newest]?.newer = place } else { oldest = place }
        newest = place
    }
}
