/// Decides which requests run and which wait: hard limits per host and in total, priorities that age, hosts served in turn.
///
/// - An item starts at once when its host and the total have a free slot. Nothing that could start ever waits.
/// - Else it waits, as long as the queue has room for it. Each `ageingStep` of waiting raises its priority by one step; the
///   highest is the end. Within a host the highest priority comes first, and the longest waiting within the same one.
/// - Among hosts that could start something, those with the highest waiting priority take turns.
///
/// How it is done: each host has a list of waiting items for each *submitted* priority. Items in a list age alike, so its head
/// is always its most urgent item, and a host's best item is one of five heads. Hosts that could start something stand in one
/// of five rings, by the effective priority of their best item. A heap knows when the next host rises to the next ring.
///
/// A step costs O(log hosts), amortised. Waiting costs about 50 bytes an item, running none beyond its host's slot. `now` is a
/// monotonic time since any fixed point; a time before the latest one counts as the latest.
package struct PendingQueue<Item: Equatable & Sendable, Host: Hashable & Sendable>: Sendable {
    /// The numbers of a queue.
    package struct Limits: Sendable, Hashable {
        /// The most items that run at once. The default is 64. With 0 nothing starts.
        package var total: Int
        /// The most items that run at once for a host without a limit of its own. The default is 6.
        package var perHost: Int
        /// The most items that wait. The default is 100,000.
        package var waiting: Int

        package init(total: Int = 64, perHost: Int = 6, waiting: Int = 100_000) {
            self.total = total
            self.perHost = perHost
            self.waiting = waiting
        }
    }

    package enum Submission: Sendable, Hashable {
        /// It runs from now on: tell ``PendingQueue/finished(host:now:)`` when it no longer does.
        case start
        /// It waits, together with `position - 1` others.
        case queued(position: Int)
        /// The queue is full. The item was not taken.
        case refused
    }

    package private(set) var limits: Limits
    package private(set) var activeCount = 0
    /// Where the item waits that was queued last: whoever may have to take it out keeps this. A place is used again once its item has left.
    package private(set) var lastPlace: Int32 = -1

    private let ageingStep: Int64
    private var clock = Int64.min
    private var items = WaitingItems<Item>()
    private var hosts: HostTable<Host>

    /// Makes an empty queue.
    ///
    /// - Parameters:
    ///   - limits: the numbers of running and waiting items.
    ///   - ageingStep: the time of waiting that counts like one step of priority. Zero turns ageing off.
    ///   - sibling: the host that another one shares the common limit with: both together run no more items than that, as long as neither
    ///     has a limit of its own. It is mutual.
    package init(limits: Limits = Limits(), ageingStep: Duration = .seconds(5), sibling: (@Sendable (Host) -> Host?)? = nil) {
        self.limits = limits
        hosts = HostTable(sibling: sibling)
        self.ageingStep = max(0, ageingStep.clampedNanoseconds)
    }

    /// The number of items that wait.
    package var waitingCount: Int { items.count }

    /// The number of items of a host that run.
    package func activeCount(host: Host) -> Int {
        hosts.index(of: host).map { Int(hosts[$0].active) } ?? 0
    }

    /// The effective priority of a waiting item at the latest `now`, or nil when it does not wait.
    package func effectivePriority(of item: Item) -> Priority? {
        items.index(of: item).map { Priority.allCases[level(of: $0)] }
    }

    /// Where an item waits; looks at all of them.
    package func place(of item: Item) -> Int32? { items.index(of: item) }

    /// Brings in an item. The same item must not be waiting already.
    package mutating func submit(_ item: Item, host: Host, priority: Priority, now: Duration) -> Submission {
        submit(item, host: host, priority: priority, nanoseconds: now.clampedNanoseconds)
    }

    /// The same by a clock that counts nanoseconds anyway: a `Duration` of them is two 128-bit multiplications away, and as many back.
    package mutating func submit(_ item: Item, host: Host, priority: Priority, nanoseconds: Int64) -> Submission {
        advance(to: nanoseconds)
        let index = hosts.makeIndex(of: host)
        if activeCount < limits.total, hosts.load(of: index) < limit(of: index) {
            activeCount += 1
            hosts[index].active += 1
            hosts.leaveRing(index)
            placeSibling(of: index)
            return .start
        }
        guard items.count < limits.waiting else {
            hosts.releaseIfIdle(index)
            return .refused
        }
        lastPlace = items.append(item, priority: priority, submitted: clock, host: index, to: &hosts[index].waiting)
        place(index)
        return .queued(position: items.count)
    }

    /// Ends an item that was started, whatever its end was.
    ///
    /// - Returns: the item that starts now, if any. One slot came free, so there cannot be two.
    package mutating func finished(host: Host, now: Duration) -> Item? {
        finished(host: host, nanoseconds: now.clampedNanoseconds)
    }

    /// The same by a clock that counts nanoseconds.
    package mutating func finished(host: Host, nanoseconds: Int64) -> Item? {
        advance(to: nanoseconds)
        guard let index = hosts.index(of: host), hosts[index].active > 0 else {
            preconditionFailure("PendingQueue: an item finished that was never started")
        }
        activeCount -= 1
        hosts[index].active -= 1
        // First: what the two share would else stay with the one that has it.
        placeSibling(of: index)
        place(index)
        let next = startNext()
        hosts.releaseIfIdle(index)
        return next
    }

    /// Gives an item that waits at a place another priority, as if it had been submitted with that: what it has waited counts on. Does nothing
    /// when it does not wait there.
    package mutating func setPriority(_ priority: Priority, of item: Item, at place: Int32, nanoseconds: Int64) {
        guard items.contains(item, at: place), items[place].priority != priority.level else { return }
        advance(to: nanoseconds)
        let host = items[place].host
        items.setPriority(priority, of: place, in: &hosts[host].waiting)
        self.place(host)
    }

    /// Takes out an item that waits at a place, because it was cancelled. Returns false when it does not (it runs, or is unknown).
    package mutating func remove(_ item: Item, at place: Int32) -> Bool {
        guard items.contains(item, at: place) else { return false }
        let host = items[place].host
        _ = items.remove(place, from: &hosts[host].waiting)
        settle(host)
        return true
    }

    /// Takes out many at once: a host finds its new place once for all that leave it one after the other.
    ///
    /// - Parameters:
    ///   - elements: the items to take out, in an order that has those of one host side by side where it can.
    ///   - find: the item of an element and the place where it waited, or nil for none.
    ///   - removed: called for each element that waited.
    package mutating func removeAll<Elements: Sequence>(
        of elements: Elements, find: (Elements.Element) -> (item: Item, place: Int32)?, removed: (Elements.Element) -> Void
    ) {
        var unsettled: Int32?
        for element in elements {
            guard let (item, place) = find(element), items.contains(item, at: place) else { continue }
            let host = items[place].host
            if let other = unsettled, other != host { settle(other) }
            unsettled = host
            _ = items.remove(place, from: &hosts[host].waiting)
            removed(element)
        }
        if let unsettled { settle(unsettled) }
    }

    /// Takes out all items that wait, in the order of their submission.
    package mutating func removeAll() -> [Item] {
        let waiting = items.inOrderOfSubmission
        removeAll(of: waiting, find: { $0 }, removed: { _ in })
        return waiting.map(\.item)
    }

    /// Gives a host a limit of its own (an HTTP/2 connection carries many streams), or with nil the common one again.
    ///
    /// A limit below the number of running items stops none of them. The limit of a host that has nothing to do is forgotten
    /// once ``HostTable/maxIdle`` others have had nothing to do since.
    /// - Returns: the items that start now, the most urgent first.
    package mutating func setLimit(host: Host, _ limit: Int?, now: Duration) -> [Item] {
        advance(to: now.clampedNanoseconds)
        let index = hosts.makeIndex(of: host)
        hosts[index].limit = limit.map { Int32(clamping: max(0, $0)) } ?? HostTable<Host>.noLimit
        place(index)
        placeSibling(of: index)
        let started = startAll()
        hosts.releaseIfIdle(index)
        return started
    }

    /// Gives a host and its sibling one limit in the place of all others, or with nil takes it away. It is not forgotten.
    ///
    /// A limit below the number of running items stops none of them.
    /// - Returns: the items that start now, the most urgent first.
    package mutating func setCommonLimit(host: Host, _ limit: Int?, now: Duration) -> [Item] {
        advance(to: now.clampedNanoseconds)
        let index = hosts.setCommonLimit(limit.map { Int32(clamping: max(0, $0)) } ?? HostTable<Host>.noLimit, of: host)
        place(index)
        placeSibling(of: index)
        let started = startAll()
        let sibling = hosts[index].sibling
        hosts.releaseIfIdle(index)
        if sibling >= 0 { hosts.releaseIfIdle(sibling) }
        return started
    }

    /// The limit of a host and its sibling together; nil where it has none.
    package func commonLimit(ofHost host: Host) -> Int? {
        guard let index = hosts.index(of: host), hosts[index].commonLimit != HostTable<Host>.noLimit else { return nil }
        return Int(hosts[index].commonLimit)
    }

    /// The host's own limit; nil when it has none, or is forgotten.
    package func limit(ofHost host: Host) -> Int? {
        guard let index = hosts.index(of: host), hosts[index].limit != HostTable<Host>.noLimit else { return nil }
        return Int(hosts[index].limit)
    }

    /// Changes the numbers. Lower ones stop nothing that runs and turn away nothing that waits.
    ///
    /// - Returns: the items that start now, the most urgent first.
    package mutating func resize(_ limits: Limits, now: Duration) -> [Item] {
        advance(to: now.clampedNanoseconds)
        self.limits = limits
        for index in hosts.indicesInUse {
            place(index)
            hosts.releaseIfIdle(index)
        }
        return startAll()
    }
}

// MARK: - The steps

extension PendingQueue {
    private func limit(of host: Int32) -> Int {
        let (common, own) = (hosts[host].commonLimit, hosts[host].limit)
        if common != HostTable<Host>.noLimit { return Int(common) }
        return own == HostTable<Host>.noLimit ? limits.perHost : Int(own)
    }

    /// After items have left a host.
    private mutating func settle(_ host: Int32) {
        place(host)
        hosts.releaseIfIdle(host)
    }

    /// Sets the clock, and moves up the hosts whose best item has aged into the next ring meanwhile.
    private mutating func advance(to nanoseconds: Int64) {
        clock = max(clock, min(max(nanoseconds, -(.max / 2)), .max / 2))
        while let host = hosts.nextRise(before: clock) { place(host) }
    }

    /// Puts a host where it belongs after anything about it has changed: into the ring of its best item, or into none.
    private mutating func place(_ host: Int32, toTheEnd: Bool = false) {
        guard let best = bestItem(of: host), hosts.load(of: host) < limit(of: host) else {
            return hosts.leaveRing(host)
        }
        hosts.enterRing(level(of: best), host, rises: nextRise(of: host, from: level(of: best)), toTheEnd: toTheEnd)
    }

    /// After what a host runs, or its limit, has changed.
    private mutating func placeSibling(of host: Int32) {
        let sibling = hosts[host].sibling
        if sibling >= 0 { place(sibling) }
    }

    private mutating func startNext() -> Item? {
        guard activeCount < limits.total, let host = hosts.firstInTurn, let best = bestItem(of: host) else { return nil }
        let item = items.remove(best, from: &hosts[host].waiting)
        activeCount += 1
        hosts[host].active += 1
        place(host, toTheEnd: true)
        placeSibling(of: host)
        return item
    }

    private mutating func startAll() -> [Item] {
        var started: [Item] = []
        while let item = startNext() { started.append(item) }
        return started
    }

    /// The most urgent item of a host: the highest effective priority, then the longest wait.
    private func bestItem(of host: Int32) -> Int32? {
        var best: Int32?
        for priority in Priority.allCases.indices {
            guard let head = hosts[host].waiting.head(priority) else { continue }
            guard let other = best else {
                best = head
                continue
            }
            let (level, otherLevel) = (level(of: head), level(of: other))
            if level > otherLevel || (level == otherLevel && items[head].sequence < items[other].sequence) { best = head }
        }
        return best
    }

    /// The effective priority: one step more for each `ageingStep` of waiting.
    private func level(of item: Int32) -> Int {
        let submitted = Int(items[item].priority)
        guard ageingStep > 0 else { return submitted }
        let steps = (clock - items[item].submitted) / ageingStep
        return submitted + Int(min(steps, Int64(Priority.veryHigh.level) - Int64(submitted)))
    }

    /// The time when the best item of a host will have a higher priority than now.
    private func nextRise(of host: Int32, from level: Int) -> Int64 {
        guard ageingStep > 0, level < Int(Priority.veryHigh.level) else { return .max }
        var earliest = Int64.max
        for priority in Priority.allCases.indices {
            guard let head = hosts[host].waiting.head(priority) else { continue }
            let (wait, tooLong) = ageingStep.multipliedReportingOverflow(by: Int64(level + 1 - priority))
            let (time, tooLate) = items[head].submitted.addingReportingOverflow(wait)
            if !tooLong && !tooLate { earliest = min(earliest, time) }
        }
        return earliest
    }
}

extension Duration {
    /// Nanoseconds, within ±146 years, so that the difference of two of them cannot overflow.
    fileprivate var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let limit = Int64.max / 2 / 1_000_000_000
        return min(max(seconds, -limit), limit) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
