public import Foundation
public import Reachability
public import ScopedNet
import SystemSupport

extension Notification.Name {
    /// The path of a monitor is another one. Object: the `ReachabilityMonitor`; see ``ReachabilityNotifications/Key`` for the payload.
    public static let networkPathDidChange = Notification.Name("Reachability.path.didChange")
}

/// Posts the changes of a monitor's path to a `NotificationCenter` for as long as it is kept, or its bag lives:
///
/// ```swift
/// bag.insert(ReachabilityNotifications(monitor))
/// ```
///
/// Posted on the monitor's thread, in order, with the current path first if there is one. It keeps the monitor alive until it is cancelled or
/// dropped; nothing is posted after that, but for a call that was already admitted.
public final class ReachabilityNotifications: Cancellable {
    /// What `networkPathDidChange` carries.
    public enum Key {
        /// `NetworkPath`.
        public static let path = "Reachability.path"
        /// `NetworkPath`; absent with the first.
        public static let previous = "Reachability.previous"
        /// `NetworkPath.Delta`.
        public static let delta = "Reachability.delta"
    }

    private let subscription: ReachabilityMonitor.Subscription

    /// Begins to post the changes of a monitor, which need not be started yet.
    public init(_ monitor: ReachabilityMonitor, center: NotificationCenter = .default) {
        let last = LastPath()
        // The subscription keeps the monitor alive; its closure, which the monitor keeps, must not do so as well.
        subscription = monitor.observe { [weak monitor] path, delta in
            var info: [AnyHashable: Any] = [Key.path: path, Key.delta: delta]
            info[Key.previous] = last.exchange(path)
            guard let monitor else { return }
            center.post(name: .networkPathDidChange, object: monitor, userInfo: info)
        }
    }

    /// Ends the posting. A post that was admitted before may still be running.
    public func cancel() { subscription.cancel() }
}

private final class LastPath: Sendable {
    private let path = Lock<NetworkPath?>(nil)

    func exchange(_ new: NetworkPath) -> NetworkPath? {
        path.withLock { path in
            defer { path = new }
            return path
        }
    }
}
