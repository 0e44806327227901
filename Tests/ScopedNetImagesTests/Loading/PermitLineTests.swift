import CleanSlate
import ScopedNet
import Testing

@testable import ScopedNetImages

/// The queue of transfers and decodings, as a pure type. AFNetworking counted, and let a queued task that was cancelled take away from the count (3469). IMD-3.
@Suite(.leavesNothing, .onOwnThread, .timeLimit(.minutes(3))) struct PermitLineTests {
    @Test func onlySoManyHoldAPermit() {
        var line = PermitLine<Int>(limit: 2)
        let first = [1, 2, 3].map { line.ask($0, .normal) }
        #expect(first == [true, true, false])
        // Asking twice is asking once.
        let again = [3, 1].map { line.ask($0, .normal) }
        #expect(again == [false, true])
        let next = line.leave(1)
        #expect(next == 3 && line.holders == [2, 3])
        let last = [2, 3].map { line.leave($0) }
        #expect(last == [nil, nil] && line.holders.isEmpty)
    }

    /// Defect 15.
    @Test func oneThatLeavesTheLineGivesNothingBack() {
        var line = PermitLine<Int>(limit: 1)
        let granted = (1...4).map { line.ask($0, .normal) }
        #expect(granted == [true, false, false, false])
        let left = [3, 3, 99].map { line.leave($0) }
        #expect(left == [nil, nil, nil] && line.holders == [1])
        let next = [1, 2, 4].map { line.leave($0) }
        #expect(next == [2, 4, nil])
    }

    @Test(arguments: [(ImageOrder.firstInFirstOut, [2, 3, 4, 5]), (.lastInFirstOut, [5, 4, 3, 2])])
    func theOrderIsThatOfTheConfiguration(order: ImageOrder, expected: [Int]) {
        var line = PermitLine<Int>(limit: 1, order: order)
        for id in 1...5 { _ = line.ask(id, .normal) }
        #expect(drain(&line, from: 1) == expected)
    }

    @Test func theMostUrgentGoFirst() {
        var line = PermitLine<Int>(limit: 1)
        for (id, priority) in [(1, Priority.normal), (2, .low), (3, .high), (4, .normal), (5, .high)] { _ = line.ask(id, priority) }
        #expect(drain(&line, from: 1) == [3, 5, 4, 2])
    }

    /// Among its equals each stands where it would have stood with that priority from the start.
    @Test func prioritiesChangeInTheLine() {
        var line = PermitLine<Int>(limit: 1)
        for (id, priority) in [(1, Priority.normal), (2, .low), (3, .low), (4, .high), (5, .high)] { _ = line.ask(id, priority) }
        line.setPriority(.high, of: 3)
        line.setPriority(.low, of: 4)
        // Of a holder and of a stranger nothing changes.
        line.setPriority(.high, of: 1)
        line.setPriority(.high, of: 77)
        #expect(drain(&line, from: 1) == [3, 5, 2, 4])
    }

    private func drain(_ line: inout PermitLine<Int>, from first: Int) -> [Int] {
        var (seen, last) = ([Int](), first)
        while let next = line.leave(last) {
            seen.append(next)
            last = next
        }
        return seen
    }

    // MARK: Against a naive line

    /// The same by one list that is searched. (the reference of the random walk)
    private struct Reference {
        let limit: Int
        let order: ImageOrder
        var waiting: [Int: Priority] = [:]
        var holders: Set<Int> = []

        mutating func ask(_ id: Int, _ priority: Priority) -> Bool {
            if holders.contains(id) { return true }
            if waiting[id] != nil { return false }
            if holders.count < limit { holders.insert(id) } else { waiting[id] = priority }
            return holders.contains(id)
        }

        mutating func setPriority(_ priority: Priority, of id: Int) { if waiting[id] != nil { waiting[id] = priority } }

        mutating func leave(_ id: Int) -> Int? {
            if waiting.removeValue(forKey: id) != nil { return nil }
            guard holders.remove(id) != nil, let highest = waiting.values.map(\.level).max() else { return nil }
            let equals = waiting.filter { $0.value.level == highest }.keys
            guard let next = order == .firstInFirstOut ? equals.min() : equals.max() else { return nil }
            waiting[next] = nil
            holders.insert(next)
            return next
        }
    }

    @Test(arguments: [ImageOrder.firstInFirstOut, .lastInFirstOut], [1, 4])
    func aHundredThousandStepsAgreeWithANaiveLine(order: ImageOrder, limit: Int) {
        var random = SplitMix(state: UInt64(limit) * 2 + (order == .firstInFirstOut ? 0 : 1))
        var (line, reference) = (PermitLine<Int>(limit: limit, order: order), Reference(limit: limit, order: order))
        for step in 0..<100_000 {
            let (id, priority) = (Int(random.next() % 24), Priority.allCases[Int(random.next() % 3)])
            let agrees =
                switch random.next() % 4 {
                case 0, 1: line.ask(id, priority) == reference.ask(id, priority)
                case 2: line.leave(id) == reference.leave(id)
                default: change(&line, &reference, id, priority)
                }
            let isBounded = line.holders.count <= limit && (line.waitingCount == 0 || line.holders.count == limit)
            guard agrees, isBounded, line.holders == reference.holders else {
                Issue.record("step \(step)")
                return
            }
        }
        // The line always drains.
        while let id = line.holders.first {
            let (next, expected) = (line.leave(id), reference.leave(id))
            #expect(next == expected)
        }
        #expect(line.waitingCount == 0)
    }

    private func change(_ line: inout PermitLine<Int>, _ reference: inout Reference, _ id: Int, _ priority: Priority) -> Bool {
        line.setPriority(priority, of: id)
        reference.setPriority(priority, of: id)
        return true
    }
}
