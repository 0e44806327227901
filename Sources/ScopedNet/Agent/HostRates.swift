/// The rates at which hosts are asked, and the requests that wait for theirs. (pure)
///
/// A token bucket for each host: one token a request, refilled at the rate, full at the burst. A request that may go has a permit, and takes its
/// token when it is sent: however long it waits for a connection, no more are sent in any time than the rate and one burst allow.
struct HostRates<Name: Hashable & Sendable> {
    private struct Host {
        /// The time since which unused tokens count: one for each interval.
        var base: Int64
        /// Requests that may go and were not sent.
        var permits: Int64 = 0
        var heldUntil = Int64.min
        /// In the order of their coming; those that were removed are passed over.
        var queue: [UInt64] = []
        var next = 0
        var waiting = 0
    }

    private let rate: HostRate
    private var hosts: [Name: Host] = [:]
    private var waiting: [UInt64: Name] = [:]
    private var bound = 1024

    init(_ rate: HostRate) { self.rate = rate }

    var waitingCount: Int { waiting.count }
    var hostCount: Int { hosts.count }

    // MARK: Requests

    /// - Returns: true with a permit; false where the request has to wait.
    mutating func permit(_ host: Name, now: Int64) -> Bool {
        update(host, now) { state, rate in
            guard state.waiting == 0, Self.isReady(state, rate, now) else { return false }
            state.permits += 1
            return true
        }
    }

    /// Waits behind those who came before.
    mutating func wait(_ waiter: UInt64, for host: Name, now: Int64) {
        waiting[waiter] = host
        update(host, now) { state, _ in
            state.queue.append(waiter)
            state.waiting += 1
        }
    }

    /// - Returns: false when it was not waiting (any more).
    mutating func remove(_ waiter: UInt64) -> Bool {
        guard let host = waiting.removeValue(forKey: waiter) else { return false }
        hosts[host]?.waiting -= 1
        if hosts[host]?.waiting == 0 { clearQueue(of: host) }
        return true
    }

    /// A request with a permit is sent now.
    ///
    /// - Returns: false while the host is held: the permit is gone, and the request has to wait.
    mutating func send(_ host: Name, now: Int64) -> Bool {
        update(host, now) { state, rate in
            state.permits = max(0, state.permits - 1)
            guard state.heldUntil <= now else { return false }
            state.base = max(state.base, now - rate.interval * rate.burst) + rate.interval
            return true
        }
    }

    /// A request with a permit is not sent after all.
    mutating func giveBack(_ host: Name) { if let permits = hosts[host]?.permits, permits > 0 { hosts[host]?.permits = permits - 1 } }

    /// The host wants no request before that moment.
    mutating func hold(_ host: Name, until: Int64, now: Int64) {
        update(host, now) { state, _ in state.heldUntil = max(state.heldUntil, until) }
    }

    // MARK: Time

    /// Takes those who may go now, each with a permit.
    mutating func takeReady(_ host: Name, now: Int64) -> [UInt64] {
        guard hosts[host] != nil else { return [] }
        var ready: [UInt64] = []
        var (queue, next) = (hosts[host]?.queue ?? [], hosts[host]?.next ?? 0)
        hosts[host]?.queue = []
        while next < queue.count, let state = hosts[host], Self.isReady(state, rate, now) {
            let waiter = queue[next]
            next += 1
            guard waiting[waiter] == host else { continue }
            waiting[waiter] = nil
            hosts[host]?.waiting -= 1
            hosts[host]?.permits += 1
            ready.append(waiter)
        }
        if next > 64, next * 2 > queue.count {
            queue.removeFirst(next)
            next = 0
        }
        hosts[host]?.queue = queue
        hosts[host]?.next = next
        if hosts[host]?.waiting == 0 { clearQueue(of: host) }
        return ready
    }

    /// When the next of those who wait may go; nil where none waits, and where one has to be sent or given back first.
    func nextDue(_ host: Name, now: Int64) -> Int64? {
        guard let state = hosts[host], state.waiting > 0 else { return nil }
        guard rate.interval > 0 else { return max(now, state.heldUntil) }
        guard state.permits < rate.burst else { return nil }
        return max(now, state.heldUntil, Self.base(state, rate, now) + (state.permits + 1) * rate.interval)
    }

    private static func isReady(_ state: Host, _ rate: HostRate, _ now: Int64) -> Bool {
        guard state.heldUntil <= now else { return false }
        return rate.interval == 0 || now >= base(state, rate, now) + (state.permits + 1) * rate.interval
    }

    /// No more than a burst is saved up.
    private static func base(_ state: Host, _ rate: HostRate, _ now: Int64) -> Int64 { max(state.base, now - rate.interval * rate.burst) }

    // MARK: Memory

    private mutating func clearQueue(of host: Name) {
        hosts[host]?.queue = []
        hosts[host]?.next = 0
    }

    private mutating func update<Result>(_ host: Name, _ now: Int64, _ body: (inout Host, HostRate) -> Result) -> Result {
        if hosts[host] == nil, hosts.count >= bound { forgetIdle(now) }
        return body(&hosts[host, default: Host(base: now - rate.interval * rate.burst)], rate)
    }

    /// A host that could send a whole burst is what a new one would be.
    private mutating func forgetIdle(_ now: Int64) {
        let rate = rate
        hosts = hosts.filter { _, state in
            state.waiting > 0 || state.permits > 0 || state.heldUntil > now || state.base > now - rate.interval * rate.burst
        }
        bound = max(1024, 2 * hosts.count)
    }
}

/// The rate of every host of a session.
struct HostRate: Sendable {
    /// Nanoseconds between two requests; 0 without a limit.
    let interval: Int64
    let burst: Int64
}
