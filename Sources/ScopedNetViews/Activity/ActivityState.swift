/// The visibility of a network activity indicator (pure): four states, which wait before showing and before hiding, so that short work does not show and
/// short gaps do not flicker.
///
/// ```
/// inactive ──work──▶ delayingStart ──timer──▶ active ──no work──▶ delayingEnd ──timer──▶ inactive
///     ▲                   │ timer, no work      ▲                      │ work
///     └───────────────────┘                     └──────────────────────┘
/// ```
struct ActivityState: Sendable {
    /// The four states.
    enum Phase: Sendable, Hashable { case inactive, delayingStart, active, delayingEnd }

    /// The timer after an event. There is one at most.
    enum Timer: Sendable, Hashable {
        case keep
        /// Starts a timer with a number, in place of the one before.
        case start(Duration, number: Int)
        case stop
    }

    /// The work that an event leaves to do.
    struct Action: Sendable, Hashable {
        var timer = Timer.keep
        /// The new visibility; nil where it is the old one.
        var visible: Bool?
    }

    let startDelay: Duration
    let endDelay: Duration
    let isContinuous: Bool
    private(set) var phase = Phase.inactive
    private(set) var isEnabled = false
    private(set) var hasWork = false
    private var timers = 0
    private var armed: Int?

    init(startDelay: Duration = .seconds(1), endDelay: Duration = .milliseconds(170), isContinuous: Bool = false) {
        (self.startDelay, self.endDelay, self.isContinuous) = (startDelay, endDelay, isContinuous)
    }

    /// True where the indicator is shown.
    var isVisible: Bool { phase == .active || phase == .delayingEnd }

    /// Takes that there is work, or none. It counts while the indicator is disabled, too.
    mutating func workChanged(_ hasWork: Bool) -> Action {
        self.hasWork = hasWork
        guard isEnabled else { return Action() }
        switch (phase, hasWork) {
        case (.inactive, true): return enter(.delayingStart)
        case (.delayingStart, false): return isContinuous ? enter(.inactive) : Action()
        case (.active, false): return enter(.delayingEnd)
        case (.delayingEnd, true): return enter(.active)
        case (.inactive, false), (.delayingStart, true), (.active, true), (.delayingEnd, false): return Action()
        }
    }

    /// Takes that a timer is over; one that was stopped or replaced changes nothing.
    mutating func timerFired(_ number: Int) -> Action {
        guard armed == number else { return Action() }
        armed = nil
        switch phase {
        case .delayingStart: return enter(hasWork ? .active : .inactive)
        case .delayingEnd: return enter(.inactive)
        case .inactive, .active: return Action()
        }
    }

    /// Switches the indicator on or off. Off hides it at once; on shows it at once where there is work, which has not just begun.
    mutating func setEnabled(_ isEnabled: Bool) -> Action {
        guard isEnabled != self.isEnabled else { return Action() }
        self.isEnabled = isEnabled
        return enter(isEnabled && hasWork ? .active : .inactive)
    }

    private mutating func enter(_ next: Phase) -> Action {
        let wasVisible = isVisible
        phase = next
        var action = Action()
        if isVisible != wasVisible { action.visible = isVisible }
        switch next {
        case .delayingStart: action.timer = startTimer(startDelay)
        case .delayingEnd: action.timer = startTimer(endDelay)
        case .inactive, .active:
            if armed != nil { action.timer = .stop }
            armed = nil
        }
        return action
    }

    private mutating func startTimer(_ delay: Duration) -> Timer {
        timers += 1
        armed = timers
        return .start(delay, number: timers)
    }
}
