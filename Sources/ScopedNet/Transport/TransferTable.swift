/// Transfers by their number: open addressing with linear probing. A `Dictionary` would spend 300 instructions on each hash, and a
/// transfer comes and goes with three of them; nobody outside chooses the numbers, so nothing has to be hidden from him.
struct TransferTable<Value> {
    private struct Slot {
        var id: TransferID
        var value: Value
    }

    /// A power of two of them, at most half in use.
    private var slots: [Slot?]
    private(set) var count = 0

    private static var smallest: Int { 64 }

    init() { slots = Array(repeating: nil, count: Self.smallest) }

    var values: [Value] { slots.compactMap { $0?.value } }

    subscript(id: TransferID) -> Value? {
        var place = home(of: id)
        while let slot = slots[place] {
            if slot.id == id { return slot.value }
            place = (place + 1) & mask
        }
        return nil
    }

    /// The number must not be in the table yet.
    mutating func insert(_ value: Value, for id: TransferID) {
        if (count + 1) * 2 > slots.count { resize(to: slots.count * 2) }
        place(Slot(id: id, value: value))
        count += 1
    }

    mutating func remove(_ id: TransferID) {
        var hole = home(of: id)
        while slots[hole]?.id != id {
            if slots[hole] == nil { return }
            hole = (hole + 1) & mask
        }
        count -= 1
        // Whoever stands behind and may stand here moves up, so that no search ends before its goal.
        var next = (hole + 1) & mask
        while let slot = slots[next] {
            if (next &- home(of: slot.id)) & mask >= (next &- hole) & mask {
                slots[hole] = slot
                hole = next
            }
            next = (next + 1) & mask
        }
        slots[hole] = nil
        if count == 0, slots.count > Self.smallest { resize(to: Self.smallest) }
    }

    private var mask: Int { slots.count - 1 }

    /// Numbers follow each other in steps; the multiplication (2^64 divided by the golden ratio) spreads any step.
    private func home(of id: TransferID) -> Int {
        Int(truncatingIfNeeded: (id.number &* 0x9e37_79b9_7f4a_7c15) >> 32) & mask
    }

    private mutating func place(_ slot: Slot) {
        var place = home(of: slot.id)
        while slots[place] != nil { place = (place + 1) & mask }
        slots[place] = slot
    }

    private mutating func resize(to size: Int) {
        let old = slots
        slots = Array(repeating: nil, count: size)
        for slot in old { if let slot { place(slot) } }
    }
}
