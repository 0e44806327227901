/// The decisions of a query: when it is asked for, and when that is given up. (pure)
///
/// At most one request is under way. One that was begun before an invalidation may bring what was true before it: another one follows, once.
struct QueryMachine: Hashable, Sendable {
    enum Step: Hashable, Sendable {
        case fetch(Int)
        /// Give the request up: the last observer has left.
        case abandon
        /// The answer counts.
        case accept
        /// It does not.
        case ignore
    }

    /// The end of a request.
    enum Ending: Hashable, Sendable {
        case succeeded, failed
        /// By somebody else than the query: nothing is told of it.
        case cancelled
    }

    private(set) var observers = 0
    /// The request under way.
    private var fetch: Int?
    private var last = 0
    /// It is to be asked for, however fresh its value is.
    private(set) var isInvalid = false
    /// It was invalidated while a request was under way.
    private var followsUp = false
    /// Its value was changed here while a request was under way: what that brings may be older.
    private var isOutdated = false

    var isFetching: Bool { fetch != nil }

    mutating func observe(isFresh: Bool) -> [Step] {
        observers += 1
        return isFresh && !isInvalid ? [] : begin()
    }

    mutating func leave() -> [Step] {
        guard observers > 0 else { return [] }
        observers -= 1
        guard observers == 0, fetch != nil else { return [] }
        (fetch, followsUp, isOutdated) = (nil, false, false)
        return [.abandon]
    }

    mutating func invalidate() -> [Step] {
        isInvalid = true
        if fetch != nil {
            followsUp = true
            return []
        }
        return observers > 0 ? begin() : []
    }

    /// Its value was changed here: an answer that is under way may be older, and does not count.
    mutating func changed() { if fetch != nil { (followsUp, isOutdated) = (true, true) } }

    /// Its value was set here, as good as the server's.
    mutating func set() {
        changed()
        isInvalid = false
    }

    /// The network is back: what is not fresh is asked for, where somebody looks at it.
    mutating func refresh(isFresh: Bool) -> [Step] { observers > 0 && !(isFresh && !isInvalid) ? begin() : [] }

    mutating func fetched(_ number: Int, _ ending: Ending) -> [Step] {
        guard fetch == number else { return [] }
        let (counts, again) = (ending != .cancelled && !isOutdated, followsUp)
        (fetch, followsUp, isOutdated) = (nil, false, false)
        if ending == .succeeded, !again { isInvalid = false }
        return [counts ? .accept : .ignore] + (again ? begin() : [])
    }

    private mutating func begin() -> [Step] {
        guard fetch == nil else { return [] }
        last += 1
        fetch = last
        return [.fetch(last)]
    }
}
