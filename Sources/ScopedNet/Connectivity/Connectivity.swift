public import Reachability

/// How a session hears of the network.
///
/// What it does with that: a request with ``RequestOptions/waitsForConnectivity`` waits for a path, a retry that was to come after a lost
/// path goes out with the next one, and when the path becomes another one idle connections and resolved names are dropped at once, so that
/// the next request does not hang on a dead connection. It never keeps a request from being tried that did not ask for it.
public struct Connectivity: Sendable {
    enum Kind: Sendable {
        case automatic
        case monitor(ReachabilityMonitor)
        case source(any ConnectivitySource)
        case off
    }

    let kind: Kind

    /// One monitor of the library's own for all sessions of the process. It starts (a thread, a few descriptors, no wake-ups while nothing
    /// changes) with the first response from another machine, the first retry or the first wait, and goes with the last session. Where
    /// netlink is refused it looks twice a second.
    public static let automatic = Connectivity(kind: .automatic)

    /// A monitor of yours, on whose thread the session's own targets are watched as well. Its configuration holds for them, but for the
    /// probe: a session asks for paths alone, and the probe stays the one of your monitor.
    public static func monitor(_ monitor: ReachabilityMonitor) -> Connectivity { Connectivity(kind: .monitor(monitor)) }

    /// Nothing is watched: nothing waits, retries go by the clock, dead connections are found when they are used.
    public static let off = Connectivity(kind: .off)

    /// For tests.
    package static func source(_ source: any ConnectivitySource) -> Connectivity { Connectivity(kind: .source(source)) }

    func makeSource() -> (any ConnectivitySource)? {
        switch kind {
        case .automatic: PathWatch.shared
        case .monitor(let monitor): PathWatch(monitor)
        case .source(let source): source
        case .off: nil
        }
    }

    func isSame(as other: Connectivity) -> Bool {
        switch (kind, other.kind) {
        case (.automatic, .automatic), (.off, .off): true
        case (.monitor(let one), .monitor(let two)): one === two
        case (.source(let one), .source(let two)): one === two
        default: false
        }
    }
}

/// What sessions ask about the network. Actions are called on any thread but the asker's, never from within.
package protocol ConnectivitySource: AnyObject, Sendable {
    /// Whether one of the targets can be reached, as far as that is known without asking anybody; nil when it is not.
    func isSatisfied(_ targets: [NetworkPath.Target]) -> Bool?
    /// Calls `action` once, as soon as one of the targets can be reached or it turns out that nobody can tell; and before that `notYet`, at
    /// most once, when none can.
    func wait(for targets: [NetworkPath.Target], notYet: (@Sendable () -> Void)?, _ action: @escaping @Sendable () -> Void)
        -> any Cancellable
    /// Calls `action` whenever the path has become another one and connections made before are probably dead.
    func watch(_ action: @escaping @Sendable () -> Void) -> any Cancellable
}
