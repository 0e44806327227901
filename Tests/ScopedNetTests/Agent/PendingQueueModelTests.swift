import CleanSlate
import Glibc
import Testing

@testable import ScopedNet

/// Random operations on the queue and on a model so simple that it is right: a list, searched from one end to the other.
@Suite(.leavesNothing, .onOwnThread) struct PendingQueueModelTests {
    private struct Model {
        struct Entry {
            let item: Int
            let host: Int
            var priority: Int
            let submitted: Int
        }

        /// 0 and 1, 2 and 3 and so on share the common limit.
        let hasSiblings: Bool
        var total = 4
        var perHost = 2
        var capacity = 40
        var ownLimits: [Int: Int] = [:]
        var commonLimits: [Int: Int] = [:]
        var waiting: [Entry] = []
        var active: [Int: Int] = [:]
        var now = 0

        static let step = 5_000

        func activeCount(_ host: Int) -> Int { active.values.count { $0 == host } }
        func hasRoom(_ host: Int) -> Bool {
            active.count < total && load(host) < commonLimits[pair(host)] ?? ownLimits[host] ?? perHost
        }
        /// The number that siblings have in common.
        func pair(_ host: Int) -> Int { hasSiblings ? host & ~1 : host }
        func load(_ host: Int) -> Int {
            let isShared = hasSiblings && (commonLimits[pair(host)] != nil || ownLimits[host] == nil && ownLimits[host ^ 1] == nil)
            return activeCount(host) + (isShared ? activeCount(host ^ 1) : 0)
        }
        func level(_ entry: Entry) -> Int { min(4, entry.priority + (now - entry.submitted) / Self.step) }
        var startable: [Entry] { waiting.filter { hasRoom($0.host) } }

        /// Checks that `item` may be the next to start, and starts it.
        mutating func start(_ item: Int) {
            guard let index = waiting.firstIndex(where: { $0.item == item }) else {
                Issue.record("\(item) started, but did not wait")
                return
            }
            let entry = waiting[index]
            if !hasRoom(entry.host) { Issue.record("\(item) started beyond a limit") }
            let best = startable.map(level).max()
            if level(entry) != best { Issue.record("\(item) started with \(level(entry)) before \(String(describing: best))") }
            let older = waiting[..<index].contains { $0.host == entry.host && level($0) == level(entry) }
            if older { Issue.record("\(item) started before an older one of its host") }
            waiting.remove(at: index)
            active[item] = entry.host
        }
    }

    /// A quarter of what `SCOPEDNET_SOAK=1` asks for.
    private static let seeds: Range<UInt64> = 0..<(getenv("SCOPEDNET_SOAK").map { String(cString: $0) } == "1" ? 48 : 12)

    @Test(arguments: seeds)
    func agreesWithTheModel(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let hasSiblings = !seed.isMultiple(of: 2)
        let neighbour: @Sendable (Int) -> Int? = { $0 ^ 1 }
        var model = Model(hasSiblings: hasSiblings)
        var queue = PendingQueue<Int, Int>(
            limits: .init(total: model.total, perHost: model.perHost, waiting: model.capacity), ageingStep: .milliseconds(Model.step),
            sibling: hasSiblings ? neighbour : nil)
        let hostCount = Int.random(in: 1...12, using: &generator)
        var ended: Set<Int> = []
        var next = 0

        for _ in 0..<3_000 {
            model.now += [0, 0, 1, 100, 1_000, 7_000].randomElement(using: &generator)!
            let now = Duration.milliseconds(model.now)
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<46:
                let host = Int.random(in: 0..<hostCount, using: &generator)
                let priority = Priority.allCases.randomElement(using: &generator)!
                switch queue.submit(next, host: host, priority: priority, now: now) {
                case .start:
                    if !model.hasRoom(host) { Issue.record("started beyond a limit") }
                    model.active[next] = host
                case .queued(let position):
                    if model.hasRoom(host) { Issue.record("waits although there is room") }
                    model.waiting.append(
                        .init(item: next, host: host, priority: Int(priority.level), submitted: model.now))
                    if position != model.waiting.count { Issue.record("position \(position)") }
                case .refused:
                    if model.hasRoom(host) || model.waiting.count < model.capacity { Issue.record("refused although there is room") }
                }
                next += 1
            case 46..<86:
                guard let item = model.active.keys.sorted().randomElement(using: &generator) else { continue }
                let host = model.active.removeValue(forKey: item)!
                if !ended.insert(item).inserted { Issue.record("\(item) ran twice") }
                if let started = queue.finished(host: host, now: now) { model.start(started) }
            case 86..<88:
                let doomed = (0..<Int.random(in: 0...8, using: &generator)).map { _ in Int.random(in: 0...next, using: &generator) }
                let waits = model.waiting.filter { doomed.contains($0.item) }.map(\.item)
                var removed: [Int] = []
                queue.removeAll(
                    of: doomed, find: { [queue] item in queue.place(of: item).map { (item, $0) } }, removed: { removed.append($0) })
                if removed.sorted() != waits { Issue.record("removeAll") }
                model.waiting.removeAll { doomed.contains($0.item) }
            case 88..<91:
                let item = Int.random(in: 0...next, using: &generator)
                let priority = Priority.allCases.randomElement(using: &generator)!
                let place = queue.place(of: item) ?? Int32.random(in: -1...70, using: &generator)
                queue.setPriority(priority, of: item, at: place, nanoseconds: Int64(model.now) * 1_000_000)
                if let index = model.waiting.firstIndex(where: { $0.item == item }) { model.waiting[index].priority = Int(priority.level) }
            case 91..<94:
                let item = Int.random(in: 0...next, using: &generator)
                let waits = model.waiting.contains { $0.item == item }
                if queue.remove(item) != waits { Issue.record("remove") }
                model.waiting.removeAll { $0.item == item }
            case 94..<96:
                let host = Int.random(in: 0..<hostCount, using: &generator)
                let limit = [nil, nil, 0, 1, 2, 5].randomElement(using: &generator)!
                model.commonLimits[model.pair(host)] = limit
                for item in queue.setCommonLimit(host: host, limit, now: now) { model.start(item) }
                if queue.commonLimit(ofHost: host) != limit { Issue.record("common limit") }
            case 96..<98:
                let host = Int.random(in: 0..<hostCount, using: &generator)
                let limit = [nil, 0, 1, 3, 9].randomElement(using: &generator)!
                model.ownLimits[host] = limit
                for item in queue.setLimit(host: host, limit, now: now) { model.start(item) }
            default:
                model.total = Int.random(in: 0...12, using: &generator)
                model.perHost = Int.random(in: 0...4, using: &generator)
                model.capacity = Int.random(in: 0...60, using: &generator)
                let limits = PendingQueue<Int, Int>.Limits(
                    total: model.total, perHost: model.perHost, waiting: model.capacity)
                for item in queue.resize(limits, now: now) { model.start(item) }
            }
            try #require(model.startable.isEmpty, "something waits although there is room")
            try #require(queue.activeCount == model.active.count)
            try #require(queue.waitingCount == model.waiting.count)
        }

        for host in 0..<hostCount {
            model.commonLimits[model.pair(host)] = nil
            for item in queue.setCommonLimit(host: host, nil, now: .milliseconds(model.now)) { model.start(item) }
        }
        // Nothing is lost: with room for all, all that waits starts, and ends.
        let limits = PendingQueue<Int, Int>.Limits(total: 10_000, perHost: 10_000, waiting: 0)
        (model.total, model.perHost) = (limits.total, limits.perHost)
        for host in 0..<hostCount {
            model.ownLimits[host] = nil
            for item in queue.setLimit(host: host, nil, now: .milliseconds(model.now)) { model.start(item) }
        }
        for item in queue.resize(limits, now: .milliseconds(model.now)) { model.start(item) }
        #expect(model.waiting.isEmpty)
        #expect(queue.waitingCount == 0)
        for (_, host) in model.active { #expect(finish(host, in: &queue) == nil) }
        #expect(queue.activeCount == 0)
    }

    private func finish(_ host: Int, in queue: inout PendingQueue<Int, Int>) -> Int? {
        queue.finished(host: host, now: .zero)
    }

    /// Every waiting item starts within a bounded time, whatever else comes in: after four steps it is as urgent as anything, its
    /// host's older ones go first, and the other hosts get one turn each in between.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func nothingStarves(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var queue = PendingQueue<Int, Int>(limits: .init(total: 3, perHost: 2, waiting: 60), ageingStep: .seconds(1))
        var hostOf: [Int: Int] = [:]
        var since: [Int: Int] = [:]
        var active: [Int] = []
        var longest = 0
        for tick in 0..<4_000 {
            let now = Duration.milliseconds(tick * 100)
            // The load is above what can be served, and mostly urgent.
            for item in [tick * 2, tick * 2 + 1] {
                let host = Int.random(in: 0..<5, using: &generator)
                let priority = item % 50 == 0 ? Priority.veryLow : .veryHigh
                hostOf[item] = host
                switch queue.submit(item, host: host, priority: priority, now: now) {
                case .start: active.append(item)
                case .queued: since[item] = tick
                case .refused: break
                }
            }
            if let index = active.indices.randomElement(using: &generator) {
                let item = active.remove(at: index)
                if let started = queue.finished(host: hostOf[item]!, now: now) {
                    active.append(started)
                    longest = max(longest, tick - since.removeValue(forKey: started)!)
                }
            }
        }
        longest = max(longest, since.values.map { 4_000 - $0 }.max() ?? 0)
        // 40 ticks to age fully, then at most 60 others of 5 hosts in turn.
        #expect(longest <= 40 + 60 * 5)
    }
}
