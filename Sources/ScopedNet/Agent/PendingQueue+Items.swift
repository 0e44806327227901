/// The waiting items of one host: a list for each submitted priority, the longest waiting first.
struct WaitingLists: Sendable {
    /// No item.
    static let none: Int32 = -1

    fileprivate var heads = [5 of Int32](repeating: none)
    fileprivate var tails = [5 of Int32](repeating: none)
    fileprivate(set) var count: Int32 = 0

    func head(_ priority: Int) -> Int32? {
        heads[priority] == Self.none ? nil : heads[priority]
    }
}

/// The store of all waiting items: slots in one array, linked to the lists of their hosts, and found by their place in it.
struct WaitingItems<Item: Equatable & Sendable>: Sendable {
    struct Slot: Sendable {
        /// Nil while the slot is free.
        fileprivate(set) var item: Item?
        fileprivate(set) var submitted: Int64
        fileprivate(set) var sequence: UInt64
        fileprivate(set) var host: Int32
        /// In a free slot the next free one.
        fileprivate var next: Int32
        fileprivate var previous: Int32
        fileprivate(set) var priority: UInt8
    }

    /// More slots than this are given back when the last item has left.
    private static var keptCapacity: Int { 256 }

    private var slots: [Slot] = []
    private var firstFree = WaitingLists.none
    private var lastSequence: UInt64 = 0

    private(set) var count = 0

    subscript(index: Int32) -> Slot {
        _read { yield slots[Int(index)] }
    }

    /// Whether the item waits at that place. Any number may be asked for.
    func contains(_ item: Item, at index: Int32) -> Bool {
        index >= 0 && Int(index) < slots.count && slots[Int(index)].item == item
    }

    /// Looks at all of them.
    func index(of item: Item) -> Int32? {
        slots.firstIndex { $0.item == item }.map { Int32($0) }
    }

    var inOrderOfSubmission: [(item: Item, place: Int32)] {
        let waiting = slots.indices.filter { slots[$0].item != nil }.sorted { slots[$0].sequence < slots[$1].sequence }
        return waiting.compactMap { index in slots[index].item.map { ($0, Int32(index)) } }
    }

    /// - Returns: its place.
    mutating func append(
        _ item: Item, priority: Priority, submitted: Int64, host: Int32, to lists: inout WaitingLists
    ) -> Int32 {
        let level = Int(priority.level)
        lastSequence += 1
        let slot = Slot(
            item: item, submitted: submitted, sequence: lastSequence, host: host, next: WaitingLists.none,
            previous: lists.tails[level], priority: priority.level)
        let index = insert(slot)
        if lists.tails[level] == WaitingLists.none {
            lists.heads[level] = index
        } else {
            slots[Int(lists.tails[level])].next = index
        }
        lists.tails[level] = index
        lists.count += 1
        count += 1
        return index
    }

    /// Moves an item to the list of another priority, where it stands as if it had been submitted with that.
    mutating func setPriority(_ priority: Priority, of index: Int32, in lists: inout WaitingLists) {
        unlink(index, from: &lists)
        let (level, sequence) = (Int(priority.level), slots[Int(index)].sequence)
        slots[Int(index)].priority = priority.level
        var (previous, next) = (lists.tails[level], WaitingLists.none)
        while previous != WaitingLists.none, slots[Int(previous)].sequence > sequence {
            (previous, next) = (slots[Int(previous)].previous, previous)
        }
        (slots[Int(index)].previous, slots[Int(index)].next) = (previous, next)
        if previous == WaitingLists.none { lists.heads[level] = index } else { slots[Int(previous)].next = index }
        if next == WaitingLists.none { lists.tails[level] = index } else { slots[Int(next)].previous = index }
    }

    private mutating func unlink(_ index: Int32, from lists: inout WaitingLists) {
        let (level, previous, next) = (Int(slots[Int(index)].priority), slots[Int(index)].previous, slots[Int(index)].next)
        if previous == WaitingLists.none {
            lists.heads[level] = next
        } else {
            slots[Int(previous)].next = next
        }
        if next == WaitingLists.none {
            lists.tails[level] = previous
        } else {
            slots[Int(next)].previous = previous
        }
    }

    mutating func remove(_ index: Int32, from lists: inout WaitingLists) -> Item {
        var taken: Item?
        swap(&slots[Int(index)].item, &taken)
        guard let item = taken else { preconditionFailure("PendingQueue: the slot is free") }
        unlink(index, from: &lists)
        lists.count -= 1
        count -= 1
        slots[Int(index)].next = firstFree
        firstFree = index
        if count == 0 && slots.count > Self.keptCapacity { shrink() }
        return item
    }

    private mutating func insert(_ slot: Slot) -> Int32 {
        guard firstFree != WaitingLists.none else {
            slots.append(slot)
            return Int32(slots.count - 1)
        }
        let index = firstFree
        firstFree = slots[Int(index)].next
        slots[Int(index)] = slot
        return index
    }

    private mutating func shrink() {
        slots = []
        firstFree = WaitingLists.none
    }
}
