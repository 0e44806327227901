/// The hosts a queue knows: those with something running or waiting, and the latest ones that had.
///
/// A host that could start something stands in one of five rings, by the effective priority of its best item; the front of a
/// ring is next in turn. Hosts whose best item will age are also in a heap, by the time of that.
struct HostTable<Host: Hashable & Sendable>: Sendable {
    struct Slot: Sendable {
        /// Nil while the slot is free.
        fileprivate(set) var host: Host?
        var active: Int32 = 0
        /// The host's own limit, or ``HostTable/noLimit``.
        var limit = HostTable.noLimit
        /// The limit that holds for this host and its sibling together, in place of all others, or ``HostTable/noLimit``.
        fileprivate(set) var commonLimit = HostTable.noLimit
        /// The slot of the host that this one shares its limit with, as long as neither has one of its own; -1 for none.
        fileprivate(set) var sibling: Int32 = -1
        var waiting = WaitingLists()
        fileprivate var ring = HostTable.noRing
        /// In a free slot the next free one.
        fileprivate var next: Int32 = -1
        fileprivate var previous: Int32 = -1
        /// The place in the heap, or -1.
        fileprivate var place: Int32 = -1
        fileprivate var rises = Int64.max
    }

    private struct Ring: Sendable {
        var first: Int32 = -1
        var last: Int32 = -1
        var count = 0
    }

    static var noLimit: Int32 { -1 }
    /// The most idle hosts that are remembered, for their limit and because they are likely to be used again; the one idle for
    /// longest is forgotten first.
    static var maxIdle: Int { 256 }

    private static var none: Int32 { -1 }
    private static var noRing: Int8 { -1 }
    private static var idleRing: Int { 5 }

    private var slots: [Slot] = []
    private var indices: [Host: Int32] = [:]
    private var firstFree: Int32 = -1
    /// The one submitted to last, and most likely asked for next. The slot itself says whether it still is that host's.
    private var latest = 0
    private var rings = [Ring](repeating: Ring(), count: 6)
    private var heap: [Int32] = []
    private let sibling: (@Sendable (Host) -> Host?)?

    init(sibling: (@Sendable (Host) -> Host?)? = nil) { self.sibling = sibling }

    subscript(index: Int32) -> Slot {
        _read { yield slots[Int(index)] }
        _modify { yield &slots[Int(index)] }
    }

    func index(of host: Host) -> Int32? { isLatest(host) ? Int32(latest) : indices[host] }

    private func isLatest(_ host: Host) -> Bool { latest < slots.count && slots[latest].host == host }

    var indicesInUse: [Int32] { Array(indices.values) }

    mutating func makeIndex(of host: Host) -> Int32 {
        if let index = index(of: host) {
            latest = Int(index)
            return index
        }
        let index: Int32
        if firstFree == Self.none {
            index = Int32(slots.count)
            slots.append(Slot(host: host))
        } else {
            index = firstFree
            firstFree = slots[Int(index)].next
            slots[Int(index)] = Slot(host: host)
        }
        indices[host] = index
        if let other = sibling?(host), let known = indices[other] {
            slots[Int(index)].sibling = known
            slots[Int(known)].sibling = index
            slots[Int(index)].commonLimit = slots[Int(known)].commonLimit
        }
        return index
    }

    /// The number of items that count against the limit of a host.
    func load(of index: Int32) -> Int {
        let slot = slots[Int(index)]
        guard slot.sibling != Self.none else { return Int(slot.active) }
        let isShared =
            slot.commonLimit != Self.noLimit || slot.limit == Self.noLimit && slots[Int(slot.sibling)].limit == Self.noLimit
        return Int(slot.active) + (isShared ? Int(slots[Int(slot.sibling)].active) : 0)
    }

    /// Sets the limit of a host and its sibling together. Both are remembered until it is taken away.
    mutating func setCommonLimit(_ limit: Int32, of host: Host) -> Int32 {
        let index = makeIndex(of: host)
        if let other = sibling?(host) { slots[Int(makeIndex(of: other))].commonLimit = limit }
        slots[Int(index)].commonLimit = limit
        return index
    }

    /// Lets a host that has nothing to do be forgotten, a little later.
    mutating func releaseIfIdle(_ index: Int32) {
        guard slots[Int(index)].active == 0, slots[Int(index)].waiting.count == 0, slots[Int(index)].commonLimit == Self.noLimit else {
            return
        }
        if slots[Int(index)].ring == Self.noRing { link(index, Self.idleRing) }
        if rings[Self.idleRing].count > Self.maxIdle { forget(rings[Self.idleRing].first) }
    }

    private mutating func forget(_ index: Int32) {
        leaveRing(index)
        guard let host = slots[Int(index)].host else { return }
        indices.removeValue(forKey: host)
        let sibling = slots[Int(index)].sibling
        if sibling != Self.none { slots[Int(sibling)].sibling = Self.none }
        slots[Int(index)].sibling = Self.none
        slots[Int(index)].host = nil
        slots[Int(index)].next = firstFree
        firstFree = index
    }

    // MARK: Rings

    /// The host whose turn it is, among those with the most urgent items.
    var firstInTurn: Int32? {
        for level in Priority.allCases.indices.reversed() where rings[level].first != Self.none {
            return rings[level].first
        }
        return nil
    }

    /// Puts a host at the end of a ring. One that stands there already keeps its place, unless it was just served.
    mutating func enterRing(_ level: Int, _ index: Int32, rises: Int64, toTheEnd: Bool) {
        if toTheEnd || slots[Int(index)].ring != level {
            unlink(index)
            link(index, level)
        }
        setRise(index, rises)
    }

    mutating func leaveRing(_ index: Int32) {
        unlink(index)
        setRise(index, .max)
    }

    private mutating func link(_ index: Int32, _ ring: Int) {
        let last = rings[ring].last
        slots[Int(index)].ring = Int8(ring)
        slots[Int(index)].previous = last
        slots[Int(index)].next = Self.none
        if last == Self.none { rings[ring].first = index } else { slots[Int(last)].next = index }
        rings[ring].last = index
        rings[ring].count += 1
    }

    private mutating func unlink(_ index: Int32) {
        guard slots[Int(index)].ring != Self.noRing else { return }
        let ring = Int(slots[Int(index)].ring)
        let (previous, next) = (slots[Int(index)].previous, slots[Int(index)].next)
        if previous == Self.none { rings[ring].first = next } else { slots[Int(previous)].next = next }
        if next == Self.none { rings[ring].last = previous } else { slots[Int(next)].previous = previous }
        rings[ring].count -= 1
        slots[Int(index)].ring = Self.noRing
    }

    // MARK: Heap of rises

    /// A host whose best item has risen at or before `time`. It stays until it is placed anew.
    func nextRise(before time: Int64) -> Int32? {
        guard let first = heap.first, slots[Int(first)].rises <= time else { return nil }
        return first
    }

    private mutating func setRise(_ index: Int32, _ time: Int64) {
        guard slots[Int(index)].rises != time else { return }
        slots[Int(index)].rises = time
        let place = Int(slots[Int(index)].place)
        if place < 0 {
            heap.append(index)
            siftUp(heap.count - 1)
        } else if time == .max {
            removeFromHeap(place)
        } else {
            siftUp(place)
            siftDown(Int(slots[Int(index)].place))
        }
    }

    private mutating func removeFromHeap(_ place: Int) {
        let index = heap[place]
        let last = heap.removeLast()
        slots[Int(index)].place = -1
        guard place < heap.count else { return }
        put(last, place)
        siftUp(place)
        siftDown(Int(slots[Int(last)].place))
    }

    private mutating func siftUp(_ start: Int) {
        let index = heap[start]
        var place = start
        while place > 0, slots[Int(heap[(place - 1) / 2])].rises > slots[Int(index)].rises {
            put(heap[(place - 1) / 2], place)
            place = (place - 1) / 2
        }
        put(index, place)
    }

    private mutating func siftDown(_ start: Int) {
        let index = heap[start]
        var place = start
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, slots[Int(heap[child + 1])].rises < slots[Int(heap[child])].rises { child += 1 }
            guard slots[Int(heap[child])].rises < slots[Int(index)].rises else { break }
            put(heap[child], place)
            place = child
        }
        put(index, place)
    }

    private mutating func put(_ index: Int32, _ place: Int) {
        heap[place] = index
        slots[Int(index)].place = Int32(place)
    }
}
