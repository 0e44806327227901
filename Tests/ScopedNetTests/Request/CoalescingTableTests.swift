import CleanSlate
import Testing

@testable import ScopedNet

@Suite(.leavesNothing)
struct CoalescingTableTests {
    private typealias Table = CoalescingTable<String, Int, Int>

    @Test("one leads under a key, and under one key")
    func leading() {
        var table = Table()
        #expect(table.lead("a", 1, 10) == true)
        #expect(table.lead("a", 2, 20) == false, "another leads")
        #expect(table.lead("b", 1, 10) == false, "it leads already")
        #expect(table.lead("b", 2, 20) == true)
        #expect(table.end(ledBy: 1)?.leader == 10)
        #expect(table.end(ledBy: 1) == nil)
        #expect(table.lead("a", 3, 30) == true)
    }

    @Test("who follows waits until the end, in order, and nobody follows an end")
    func following() {
        var table = Table()
        #expect(table.follow("a", 5, .normal, 50) == nil)
        _ = table.lead("a", 1, 10)
        for id: UInt64 in [7, 5, 6] { #expect(table.follow("a", id, .normal, Int(id)) == 10) }
        #expect(table.isFollowed(ledBy: 1) && !table.isFollowed(ledBy: 7))
        #expect(table.end(ledBy: 1)?.waiters == [5, 6, 7])
        #expect(table.isEmpty && table.follow("a", 8, .normal, 8) == nil)
    }

    @Test("who leaves twice leaves once, and the last is said to be the last")
    func leaving() {
        var table = Table()
        _ = table.lead("a", 1, 10)
        _ = table.follow("a", 2, .normal, 2)
        _ = table.follow("a", 3, .high, 3)
        #expect(table.leave("a", 9) == nil && table.leave("b", 2) == nil)
        let first = table.leave("a", 2)
        #expect(first?.waiter == 2 && first?.leader == 10 && first?.isLast == false)
        #expect(table.leave("a", 2) == nil)
        #expect(table.leave("a", 3)?.isLast == true)
        #expect(!table.isFollowed(ledBy: 1) && table.end(ledBy: 1)?.waiters == [])
    }

    @Test("the level is asked of the one who leads")
    func levels() {
        var table = Table()
        _ = table.lead("a", 1, 10)
        #expect(table.level("a", ledBy: 1) == 0 && table.level("a", ledBy: 2) == nil && table.level("b", ledBy: 1) == nil)
        _ = table.follow("a", 2, .low, 2)
        _ = table.follow("a", 2, .veryHigh, 2)
        #expect(table.level("a", ledBy: 1) == Priority.low.level, "a place has the priority it was taken with")
    }

    /// Beside a table so simple that it is right: pairs, searched from one end to the other.
    @Test(arguments: 0..<50 as Range<UInt64>) func agreesWithTheModel(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = Table()
        var leaders: [(key: String, id: UInt64)] = []
        var waiters: [(key: String, id: UInt64, priority: Priority)] = []
        for _ in 0..<2_000 {
            let key = ["a", "b", "c"].randomElement(using: &generator)!
            let id = UInt64.random(in: 0..<8, using: &generator)
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<3:
                let mayLead = !leaders.contains { $0.key == key || $0.id == id }
                #expect(table.lead(key, id, Int(id)) == mayLead)
                if mayLead { leaders.append((key, id)) }
            case 3..<7:
                let priority = Priority.allCases.randomElement(using: &generator)!
                let leader = leaders.first { $0.key == key }
                #expect(table.follow(key, id, priority, Int(id)) == leader.map { Int($0.id) })
                if leader != nil, !waiters.contains(where: { $0.key == key && $0.id == id }) { waiters.append((key, id, priority)) }
            case 7..<9:
                let index = waiters.firstIndex { $0.key == key && $0.id == id }
                let gone = table.leave(key, id)
                if let index { waiters.remove(at: index) }
                #expect((gone != nil) == (index != nil))
                #expect(gone.map(\.isLast) ?? false == (index != nil && !waiters.contains { $0.key == key }))
            default:
                let led = leaders.first { $0.id == id }?.key
                let expected = waiters.filter { $0.key == led }.map(\.id).sorted().map(Int.init)
                let ended = table.end(ledBy: id)
                #expect(ended?.waiters == (led == nil ? nil : expected))
                leaders.removeAll { $0.id == id }
                waiters.removeAll { $0.key == led }
            }
            #expect(table.waiterCount == waiters.count)
            for leader in leaders {
                let levels = waiters.filter { $0.key == leader.key }.map(\.priority.level)
                #expect(table.level(leader.key, ledBy: leader.id) == levels.max() ?? 0)
                #expect(table.isFollowed(ledBy: leader.id) == !levels.isEmpty)
            }
        }
    }
}
