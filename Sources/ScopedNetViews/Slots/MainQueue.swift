import Dispatch

/// The queue of the main actor.
enum MainQueue {
    // Safety: an address alone, which is set once and compared.
    nonisolated(unsafe) private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// True in work of the main queue, such as that of the main actor.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true }
}
