public import Foundation
public import ScopedNet

extension Notification.Name {
    /// A suspended run goes on, or a run started. Object: its ``Run/Info``.
    public static let requestDidResume = Notification.Name("ScopedNet.request.didResume")
    /// Object: its ``Run/Info``.
    public static let requestDidSuspend = Notification.Name("ScopedNet.request.didSuspend")
    /// A run ended, by itself or by a cancellation. Object: its ``Run/Info``; see ``RequestNotifications/Key`` for the payload.
    public static let requestDidComplete = Notification.Name("ScopedNet.request.didComplete")
}

/// Posts a session's runs to a `NotificationCenter`. Install it as an observer:
///
/// ```swift
/// configuration.observers.append(RequestNotifications())
/// ```
///
/// Posted on the run's delivery executor, in order, before the run's own delegate and closures.
public final class RequestNotifications: RequestObserver {
    /// What `requestDidComplete` carries, each only when there is one.
    public enum Key {
        /// The decoded value.
        public static let value = "ScopedNet.value"
        /// ``NetworkError``; for a cancelled run its code is `cancelled` and it has the reason.
        public static let error = "ScopedNet.error"
        /// `[TransferMetrics]`, one for each attempt and hop.
        public static let metrics = "ScopedNet.metrics"
        /// Where a download was put.
        public static let filePath = "ScopedNet.filePath"
        /// ``ResponseHead``.
        public static let response = "ScopedNet.response"
        /// ``CancelReason``.
        public static let cancelReason = "ScopedNet.cancelReason"
    }

    private let center: NotificationCenter

    /// Makes an observer that posts to a center.
    public init(center: NotificationCenter = .default) { self.center = center }

    /// Posts the event, where it is one of the three. Called by the session, on the run's delivery executor.
    public func observe(_ event: RequestEvent) {
        switch event.kind {
        case .started(let attempt):
            if attempt == 1 { center.post(name: .requestDidResume, object: event.run) }
        case .resumed: center.post(name: .requestDidResume, object: event.run)
        case .suspended: center.post(name: .requestDidSuspend, object: event.run)
        case .finished(let completion):
            var info: [AnyHashable: Any] = [Key.metrics: completion.metrics]
            info[Key.value] = completion.value
            info[Key.error] = completion.error
            info[Key.filePath] = completion.filePath
            info[Key.response] = completion.response
            center.post(name: .requestDidComplete, object: event.run, userInfo: info)
        case .cancelled(let reason):
            center.post(
                name: .requestDidComplete, object: event.run,
                userInfo: [
                    Key.cancelReason: reason, Key.error: NetworkError.cancelled(reason, runID: event.run.id, phase: .delivering),
                ])
        default: break
        }
    }
}
