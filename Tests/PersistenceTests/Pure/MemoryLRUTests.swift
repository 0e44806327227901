import CleanSlate
import Testing

@testable import Persistence

/// YY-1
@Suite(.leavesNothing) struct MemoryLRUTests {
    /// The same, done the slow way.
    private struct Reference {
        var order: [(key: Int, value: Int, cost: Int)] = []
        let capacity: Int

        mutating func insert(_ value: Int, for key: Int, cost: Int) {
            order.removeAll { $0.key == key }
            order.append((key, value, cost))
        }

        mutating func use(_ key: Int) -> Int? {
            guard let index = order.firstIndex(where: { $0.key == key }) else { return nil }
            let found = order.remove(at: index)
            order.append(found)
            return found.value
        }

        mutating func evict() -> [Int] {
            var gone: [Int] = []
            while order.reduce(0, { $0 + $1.cost }) > capacity { gone.append(order.removeFirst().value) }
            return gone
        }
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func itDoesWhatASlowOneDoes(seed: UInt64) {
        var generator = Generator(seed)
        var lru = MemoryLRU<Int, Int>(capacity: 200)
        var reference = Reference(capacity: 200)
        for step in 0..<20_000 {
            let key = generator.below(60)
            switch generator.below(10) {
            case 0..<4:
                let cost = generator.below(12)
                lru.insert(step, for: key, cost: cost)
                reference.insert(step, for: key, cost: cost)
            case 4..<8:
                let found = lru.use(key) { $0 }
                let expected = reference.use(key)
                #expect(found == expected)
            case 8:
                let removed = lru.remove(key)
                let expected = reference.order.first { $0.key == key }?.value
                reference.order.removeAll { $0.key == key }
                #expect(removed == expected)
            default:
                let gone = lru.evict()
                let expected = reference.evict()
                #expect(gone == expected)
            }
            let cost = reference.order.reduce(0) { $0 + $1.cost }
            #expect(lru.cost == cost && lru.count == reference.order.count)
        }
    }

    @Test func anEmptyOneLetsGoOfNothing() {
        var lru = MemoryLRU<Int, Int>(capacity: 0)
        let nothing = lru.evict()
        #expect(nothing.isEmpty)
        lru.insert(1, for: 1, cost: 0)
        let still = lru.evict()
        #expect(still.isEmpty && lru.count == 1)
        let all = lru.removeAll()
        #expect(all == [1] && lru.cost == 0)
    }

    @Test func theOldestGoesFirstAndALookIsNoUse() {
        var lru = MemoryLRU<Int, String>(capacity: 3)
        for key in 1...3 { lru.insert("\(key)", for: key, cost: 1) }
        let looked = lru.peek(1)
        let used = lru.use(2) { value -> String in
            value += "!"
            return value
        }
        let unknown = (lru.peek(9), lru.use(9) { $0 }, lru.remove(9))
        #expect(looked == "1" && used == "2!" && unknown.0 == nil && unknown.1 == nil && unknown.2 == nil)
        lru.insert("4", for: 4, cost: 1)
        let gone = lru.evict()
        #expect(gone == ["1"] && lru.peek(2) == "2!" && Set(lru.keys) == [2, 3, 4])
        let further = lru.evict(downTo: 1)
        #expect(further == ["3", "2!"] && lru.cost == 1 && lru.count == 1)
    }

    @Test func aValueThatIsReplacedCostsWhatTheNewOneCosts() {
        var lru = MemoryLRU<Int, String>(capacity: 10)
        let first = lru.insert("a", for: 1, cost: 7)
        let former = lru.insert("b", for: 1, cost: 2)
        #expect(first == nil && former == "a" && lru.cost == 2 && lru.count == 1)
        let removed = lru.remove(1)
        let again = lru.insert("c", for: 2, cost: 3)
        #expect(removed == "b" && again == nil && lru.cost == 3)
        let all = lru.removeAll()
        #expect(all == ["c"] && lru.count == 0 && lru.capacity == 10)
    }
}

/// Numbers that follow from their seed.
struct Generator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    mutating func below(_ bound: Int) -> Int { Int((next() >> 11) % UInt64(bound)) }
}
