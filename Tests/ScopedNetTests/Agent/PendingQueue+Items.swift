@testable import ScopedNet

extension PendingQueue {
    /// Takes out an item wherever it waits.
    mutating func remove(_ item: Item) -> Bool {
        place(of: item).map { remove(item, at: $0) } ?? false
    }
}
