/// A queue in an array: what was taken out makes room again, also where the queue never becomes
/// empty. (pure)
struct JobQueue<Element> {
    private var items: [Element?] = []
    private var next = 0

    /// Places at the front that are empty before the rest is moved down, at least; then half of
    /// all.
    private static var slack: Int { 256 }

    var count: Int { items.count - next }
    var isEmpty: Bool { count == 0 }
    /// Places that memory is held for.
    var capacity: Int { items.capacity }

    mutating func append(_ element: Element) { items.append(element) }

    mutating func popFirst() -> Element? {
        guard next < items.count else { return nil }
        let element = items[next].take()
        next += 1
        if next == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 4 * Self.slack)
            next = 0
        } else if next >= Self.slack, next * 2 >= items.count {
            // Another array, and not the same one: that would keep the room of the longest queue
            // there ever was.
            items = Array(items[next...])
            next = 0
        }
        return element
    }
}
