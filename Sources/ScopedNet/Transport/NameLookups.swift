/// The limit on name lookups under way at once, and the transfers that wait for one to end. (pure)
///
/// libcurl gives each lookup a thread, and getaddrinfo(3) cannot be interrupted: a cancelled transfer's
/// thread goes on until the resolver gives up, with a dead one for tens of seconds. So a lookup counts
/// until its thread has ended, and not until its transfer has. To one host there are fewer at a time:
/// those who wait for a name find what the first lookup has found.
///
/// With another network the count begins anew: what hangs at the resolver of the one that is gone holds up
/// nobody, and its threads end by themselves.
///
/// Hosts are compared as Swift compares text. Two that look alike would share a limit and nothing else.
struct NameLookups {
    /// A lookup that counts.
    struct Ticket: Equatable {
        let host: String
        fileprivate let network: Int
    }

    private struct Host {
        var running = 0
        /// In the order of their coming; those that were removed are passed over.
        var waiting: [TransferID] = []
        var next = 0
    }

    private let total: Int
    private let perHost: Int
    private var hosts: [String: Host] = [:]
    /// Hosts with waiting transfers, the longest waiting first.
    private var queue: [String] = []
    private var waiting: Set<TransferID> = []
    private var network = 0
    /// Lookups whose threads have not ended.
    private(set) var running = 0

    init(total: Int, perHost: Int) {
        self.total = max(1, total)
        self.perHost = max(1, min(perHost, total))
    }

    var isAnyoneWaiting: Bool { !waiting.isEmpty }

    /// - Returns: nil where the limit is reached: the transfer has to wait.
    mutating func begin(_ host: String) -> Ticket? {
        guard running < total, hosts[host]?.running ?? 0 < perHost else { return nil }
        hosts[host, default: Host()].running += 1
        running += 1
        return Ticket(host: host, network: network)
    }

    /// The thread of a lookup has ended.
    mutating func end(_ ticket: Ticket) {
        guard ticket.network == network, let count = hosts[ticket.host]?.running, count > 0 else { return }
        hosts[ticket.host]?.running = count - 1
        running -= 1
        forgetIfUnused(ticket.host)
    }

    /// Another network has another resolver.
    mutating func networkChanged() {
        network += 1
        running = 0
        for name in Array(hosts.keys) {
            hosts[name]?.running = 0
            forgetIfUnused(name)
        }
    }

    mutating func wait(_ id: TransferID, for host: String) {
        waiting.insert(id)
        if hosts[host]?.waiting.isEmpty ?? true { queue.append(host) }
        hosts[host, default: Host()].waiting.append(id)
    }

    mutating func stopWaiting(_ id: TransferID) { waiting.remove(id) }

    func isWaiting(_ id: TransferID) -> Bool { waiting.contains(id) }

    /// Takes the transfer that may try again.
    ///
    /// A transfer shows only when it begins that it needs a lookup: the name may be known by now. So the
    /// caller asks until there is none. What then still waits has a lookup under way before it, whose end is a reason
    /// to ask again.
    mutating func next() -> TransferID? {
        guard !waiting.isEmpty, running < total else { return nil }
        var index = 0
        while index < queue.count {
            let name = queue[index]
            guard var host = hosts[name] else {
                queue.remove(at: index)
                continue
            }
            while host.next < host.waiting.count, !waiting.contains(host.waiting[host.next]) { host.next += 1 }
            if host.next == host.waiting.count {
                host.waiting = []
                host.next = 0
                hosts[name] = host
                queue.remove(at: index)
                forgetIfUnused(name)
                continue
            }
            guard host.running < perHost else {
                hosts[name]?.next = host.next
                index += 1
                continue
            }
            let id = host.waiting[host.next]
            host.next += 1
            hosts[name] = host
            if host.next > 64, host.next * 2 > host.waiting.count { dropServed(name) }
            waiting.remove(id)
            return id
        }
        return nil
    }

    /// A host with somebody waiting all day keeps no list of those who waited before.
    private mutating func dropServed(_ name: String) {
        guard let next = hosts[name]?.next else { return }
        hosts[name]?.waiting.removeFirst(next)
        hosts[name]?.next = 0
    }

    private mutating func forgetIfUnused(_ name: String) {
        if let host = hosts[name], host.running == 0, host.waiting.isEmpty { hosts[name] = nil }
    }
}
