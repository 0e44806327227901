import CleanSlate
import Testing

@testable import Persistence

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
