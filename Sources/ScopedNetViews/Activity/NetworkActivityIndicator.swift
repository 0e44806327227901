package import ScopedNet

/// An indicator that the program uses the network: shown after a second of work, hidden a moment after its end.
///
/// ```swift
/// let indicator = NetworkActivityIndicator(views)
/// indicator.attach(spinner)
/// indicator.isEnabled = true
/// ```
///
/// It counts the runs whose transfers go on, by their ids, in all sessions that have the ``ViewObserver``; a run that waits in the queue, for a retry or for
/// the network, or that is suspended, is none of them. Other work is counted by hand (``increment()``). Work counts while the indicator is disabled: once
/// enabled it shows at once what goes on then, as that has not just begun.
///
/// Everything it tells is told on the main actor, and only where it changes.
@MainActor public final class NetworkActivityIndicator {
    /// The delays of an indicator.
    public struct Configuration: Sendable, Hashable {
        /// The time from the beginning of work until it is shown. Default: 1 s.
        public var startDelay = Duration.seconds(1)
        /// The time from the end of work until it is hidden; work that begins meanwhile goes on without a flicker. Default: 0.17 s.
        public var endDelay = Duration.milliseconds(170)
        /// The rule for work that ends before ``startDelay`` is over: true begins the delay anew with the next work, so that only work without a gap is
        /// shown. False, the default, shows what goes on when the delay is over, whatever gaps there were.
        public var isContinuous = false

        /// Makes the default configuration.
        public init() {}

        /// The default, with work that has no gap.
        public static var continuous: Configuration {
            var configuration = Configuration()
            configuration.isContinuous = true
            return configuration
        }
    }

    private let observer: ViewObserver
    private let timing: any Timing
    private var listener: UInt64 = 0
    private var state: ActivityState
    private var manualCount = 0
    private var timer: (any Cancellable)?
    private var streams: [UInt64: AsyncStream<Bool>.Continuation] = [:]
    private var views: [(id: UInt64, view: () -> (any BusyDisplaying)?)] = []
    private var changeCount = 0
    /// The state that views and streams know of.
    private var told = false

    /// Called with true when the indicator is to be shown, and with false when it is to be hidden. Default: nil.
    public var onChange: (@MainActor (Bool) -> Void)?

    /// Makes an indicator, which is disabled.
    ///
    /// - Parameters:
    ///   - observer: the observer of the sessions that count.
    ///   - configuration: the delays.
    public convenience init(_ observer: ViewObserver, configuration: Configuration = Configuration()) {
        self.init(observer, configuration: configuration, timing: SystemTiming())
    }

    package init(_ observer: ViewObserver, configuration: Configuration = Configuration(), timing: any Timing) {
        (self.observer, self.timing) = (observer, timing)
        state = ActivityState(
            startDelay: configuration.startDelay, endDelay: configuration.endDelay, isContinuous: configuration.isContinuous)
        listener = observer.listen { [weak self] in
            DeliveryLane.main.enqueue(.work { MainActor.assumeIsolated { self?.countWork() } })
        }
        countWork()
    }

    deinit {
        observer.stopListening(listener)
        timer?.cancel()
        for stream in streams.values { stream.finish() }
    }

    /// True where the indicator is shown.
    public var isVisible: Bool { state.isVisible }

    /// True where there is work, shown or not.
    public var hasWork: Bool { state.hasWork }

    /// The switch of the indicator. Off, the default, hides it at once; on shows it at once where there is work.
    public var isEnabled: Bool {
        get { state.isEnabled }
        set { perform(state.setEnabled(newValue)) }
    }

    /// Counts work that is no run of a session; ``decrement()`` ends it.
    public func increment() {
        manualCount += 1
        countWork()
    }

    /// Ends work that ``increment()`` has counted. More of these than of those change nothing.
    public func decrement() {
        manualCount = max(0, manualCount - 1)
        countWork()
    }

    /// Makes a stream of ``isVisible``: as it is now, and then each change. One that is not read yet is replaced by the next. The stream ends with the
    /// indicator.
    public func makeChanges() -> AsyncStream<Bool> {
        let (stream, continuation) = AsyncStream<Bool>.makeStream(bufferingPolicy: .bufferingNewest(1))
        continuation.yield(told)
        let id = Identifier.next()
        streams[id] = continuation
        continuation.onTermination = { [weak self] _ in
            DeliveryLane.main.enqueue(.work { MainActor.assumeIsolated { self?.streams[id] = nil } })
        }
        return stream
    }

    /// Shows the indicator in a view, too: at once as it is now, and then where it changes.
    ///
    /// - Parameter view: a spinner, held weakly.
    public func attach(_ view: some BusyDisplaying) {
        detach(view)
        views.append((Identifier.next(), { [weak view] in view }))
        // Not `isVisible`: within a change the view is told of it with the others, or not at all where it is taken back.
        view.setBusy(told)
    }

    /// Shows the indicator in a view no longer. The view stays as it is.
    ///
    /// - Parameter view: a spinner; one that is not attached changes nothing.
    public func detach(_ view: some BusyDisplaying) {
        views.removeAll {
            let other = $0.view()
            return other == nil || other === view
        }
    }

    /// Asks the observer, which may have changed several times meanwhile.
    private func countWork() { perform(state.workChanged(observer.activeRuns > 0 || manualCount > 0)) }

    private func perform(_ action: ActivityState.Action) {
        switch action.timer {
        case .keep: break
        case .stop:
            timer?.cancel()
            timer = nil
        case .start(let delay, let number):
            timer?.cancel()
            timer = timing.schedule(after: delay) { [weak self] in
                DeliveryLane.main.enqueue(.work { MainActor.assumeIsolated { self?.timerFired(number) } })
            }
        }
        if let visible = action.visible { tell(visible) }
    }

    private func timerFired(_ number: Int) { perform(state.timerFired(number)) }

    private func tell(_ isVisible: Bool) {
        // Those who are told may switch the indicator off and on. That change is told from within this one, which then has nothing to add.
        changeCount += 1
        let number = changeCount
        onChange?(isVisible)
        guard number == changeCount, told != isVisible else { return }
        told = isVisible
        // One that is told may detach another.
        for (id, view) in views where number == changeCount && views.contains(where: { $0.id == id }) { view()?.setBusy(isVisible) }
        for stream in streams.values where number == changeCount { stream.yield(isVisible) }
    }
}
