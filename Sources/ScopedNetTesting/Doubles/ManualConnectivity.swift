package import Reachability
@_spi(Transport) public import ScopedNet
import SystemSupport

/// A network that comes and goes by a test's hand.
///
/// ```swift
/// let network = ManualConnectivity(isSatisfied: false)
/// var configuration = Session.Configuration(customTransport: transport)
/// configuration.connectivity = network.connectivity
/// ```
///
/// What it sets off has been called when the method that set it off returns, on the calling thread.
public final class ManualConnectivity: Sendable {
    private struct Wait {
        let number: Int
        let notYet: (@Sendable () -> Void)?
        let action: @Sendable () -> Void
    }

    private struct State {
        var isSatisfied: Bool?
        var waits: [Wait] = []
        var watchers: [Int: @Sendable () -> Void] = [:]
        var last = 0
    }

    private let state: Lock<State>
    private let waiters = CountWaiters()

    /// - Parameter isSatisfied: whether there is a path to every server; nil when nobody knows yet.
    public init(isSatisfied: Bool? = true) { state = Lock(State(isSatisfied: isSatisfied)) }

    /// For ``Session/Configuration/connectivity``.
    public var connectivity: Connectivity { .source(self) }

    /// Requests and retries that wait for a path.
    public var waitingCount: Int { state.withLock { $0.waits.count } }

    /// Sessions that want to hear of another network.
    public var watcherCount: Int { state.withLock { $0.watchers.count } }

    /// Returns when so many requests and retries wait, or the task is cancelled.
    public func waitForWaiting(_ count: Int) async {
        await waiters.wait(for: count) { [self] in waitingCount }
    }

    /// There is a path now: whoever waits goes on.
    public func connect() {
        let waits = state.withLock { state in
            state.isSatisfied = true
            defer { state.waits = [] }
            return state.waits
        }
        for wait in waits { wait.action() }
    }

    /// The path is gone.
    public func disconnect() {
        let late = state.withLock { state in
            defer { state.isSatisfied = false }
            return state.isSatisfied == nil ? state.waits.compactMap(\.notYet) : []
        }
        for notYet in late { notYet() }
    }

    /// The path is another one: connections made before are taken for dead.
    public func change() {
        let watchers = state.withLock { $0.watchers.sorted { $0.key < $1.key }.map(\.value) }
        for watcher in watchers { watcher() }
    }
}

extension ManualConnectivity: ConnectivitySource {
    package func isSatisfied(_ targets: [NetworkPath.Target]) -> Bool? { state.withLock { $0.isSatisfied } }

    package func wait(
        for targets: [NetworkPath.Target], notYet: (@Sendable () -> Void)?, _ action: @escaping @Sendable () -> Void
    ) -> any Cancellable {
        let (number, isUnsatisfied, count) = state.withLock { state in
            state.last += 1
            state.waits.append(Wait(number: state.last, notYet: notYet, action: action))
            return (state.last, state.isSatisfied == false, state.waits.count)
        }
        if isUnsatisfied { notYet?() }
        waiters.wake(count)
        return AnyCancellable { [weak self] in
            // What the closures hold goes outside the lock.
            let gone = self?.state.withLock { state in
                let gone = state.waits.filter { $0.number == number }
                state.waits.removeAll { $0.number == number }
                return gone
            }
            withExtendedLifetime(gone) {}
        }
    }

    package func watch(_ action: @escaping @Sendable () -> Void) -> any Cancellable {
        let number = state.withLock { state in
            state.last += 1
            state.watchers[state.last] = action
            return state.last
        }
        return AnyCancellable { [weak self] in
            let gone = self?.state.withLock { $0.watchers.removeValue(forKey: number) }
            withExtendedLifetime(gone) {}
        }
    }
}
