/// The order in which cookies make room for others: those without `Secure` first, the longest unused first. (pure)
///
/// A heap whose entries may be older than their cookies. A cookie that was used or replaced since is put back where it belongs when its
/// turn comes, so that using one costs nothing here, and making room costs no look at the others.
struct CookieOrder: Sendable {
    struct Rank: Comparable, Sendable {
        let isSecure: Bool
        let lastUsed: Double
        let created: Double

        init(_ cookie: Cookie) {
            isSecure = cookie.isSecure
            lastUsed = cookie.lastUsed
            created = cookie.created
        }

        static func < (left: Rank, right: Rank) -> Bool {
            if left.isSecure != right.isSecure { return !left.isSecure }
            return (left.lastUsed, left.created) < (right.lastUsed, right.created)
        }
    }

    private struct Entry: Sendable {
        let rank: Rank
        let key: Cookie.Key
    }

    private var heap: [Entry] = []

    init(_ cookies: some Sequence<Cookie>) {
        heap = cookies.map { Entry(rank: Rank($0), key: $0.key) }
        for index in stride(from: heap.count / 2 - 1, through: 0, by: -1) { siftDown(index) }
    }

    /// The entries, those of cookies that are gone among them.
    var count: Int { heap.count }

    /// A cookie is new, or replaced.
    mutating func insert(_ cookie: Cookie) { insert(Entry(rank: Rank(cookie), key: cookie.key)) }

    /// Takes out the cookie that makes room next, but never `spared`; `cookies` are all there are.
    mutating func removeFirst(sparing spared: Cookie.Key, among cookies: [Cookie.Key: Cookie]) -> Cookie.Key? {
        var kept: Entry?
        defer { if let kept { insert(kept) } }
        while let entry = removeFirst() {
            guard let cookie = cookies[entry.key] else { continue }
            let rank = Rank(cookie)
            if entry.rank != rank {
                insert(Entry(rank: rank, key: entry.key))
            } else if entry.key == spared {
                kept = entry
            } else {
                return entry.key
            }
        }
        return nil
    }

    private mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var index = heap.count - 1
        while index > 0, heap[index].rank < heap[(index - 1) / 2].rank {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func removeFirst() -> Entry? {
        guard let first = heap.first else { return nil }
        let last = heap.removeLast()
        if !heap.isEmpty {
            heap[0] = last
            siftDown(0)
        }
        return first
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child].rank < heap[least].rank { least = child }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
