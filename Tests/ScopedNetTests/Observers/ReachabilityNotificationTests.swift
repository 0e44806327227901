import CleanSlate
import Foundation
import Reachability
import ScopedNet
import ScopedNetFoundation
import Testing

/// Paths at a notification centre, and subscriptions in a bag.
@Suite(.leavesNothing) struct ReachabilityNotificationTests {
    private struct Post: Sendable {
        let isOfMonitor: Bool
        let path: NetworkPath?
        let hasPrevious: Bool
        let delta: NetworkPath.Delta?
    }

    private static let target = NetworkPath.Target.host("127.0.0.1")

    @Test func theFirstPathIsPosted() async throws {
        let monitor = ReachabilityMonitor(target: Self.target)
        let center = NotificationCenter()
        let (posts, continuation) = AsyncStream.makeStream(of: Post.self)
        let observer = center.addObserver(forName: .networkPathDidChange, object: nil, queue: nil) { notification in
            let info = notification.userInfo ?? [:]
            continuation.yield(
                Post(
                    isOfMonitor: notification.object as? ReachabilityMonitor === monitor,
                    path: info[ReachabilityNotifications.Key.path] as? NetworkPath,
                    hasPrevious: info[ReachabilityNotifications.Key.previous] != nil,
                    delta: info[ReachabilityNotifications.Key.delta] as? NetworkPath.Delta))
        }
        defer { center.removeObserver(observer) }
        let notifications = ReachabilityNotifications(monitor, center: center)
        try monitor.start()
        var iterator = posts.makeAsyncIterator()
        let post = await iterator.next()
        #expect(post?.isOfMonitor == true && post?.path?.isSatisfied == true && post?.hasPrevious == false && post?.delta == .first)
        #expect(post?.path == monitor.currentPath)
        notifications.cancel()
    }

    @Test func theyKeepTheMonitorAliveAndLetItGo() throws {
        weak var monitor: ReachabilityMonitor?
        var notifications: ReachabilityNotifications?
        do {
            let made = ReachabilityMonitor(target: Self.target)
            notifications = ReachabilityNotifications(made, center: NotificationCenter())
            monitor = made
        }
        let isKept = monitor != nil
        #expect(isKept)
        notifications?.cancel()
        let isGone = monitor == nil
        #expect(isGone)
        _ = notifications
    }

    @Test func aSubscriptionEndsWithItsBag() async throws {
        let monitor = ReachabilityMonitor(target: Self.target)
        try monitor.start()
        let bag = DeallocBag()
        let (calls, continuation) = AsyncStream.makeStream(of: NetworkPath.self)
        bag.insert(monitor.observe { path, _ in continuation.yield(path) })
        var iterator = calls.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.isSatisfied == true)
        bag.end()
        // Whoever comes after the bag's end is told, and the one in the bag is not: the refresh is the same for both.
        let (later, laterContinuation) = AsyncStream.makeStream(of: NetworkPath.self)
        let probe = monitor.observe { path, _ in laterContinuation.yield(path) }
        var laterIterator = later.makeAsyncIterator()
        _ = await laterIterator.next()
        probe.cancel()
        continuation.finish()
        let more = await iterator.next()
        #expect(more == nil)
    }

    @Test func inAnEndedBagASubscriptionIsCancelledAtOnce() {
        weak var monitor: ReachabilityMonitor?
        let bag = DeallocBag()
        bag.end()
        do {
            let made = ReachabilityMonitor(target: Self.target)
            monitor = made
            bag.insert(made.observe { _, _ in })
        }
        let isGone = monitor == nil
        #expect(isGone)
    }
}
