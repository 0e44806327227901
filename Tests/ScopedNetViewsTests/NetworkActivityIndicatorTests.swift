import CleanSlate
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetViews

/// The indicator over sessions, with a clock that is moved by hand.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct NetworkActivityIndicatorTests {
    @MainActor private final class Log {
        var changes: [Bool] = []
    }

    private func make(
        _ test: ViewTest, _ clock: ManualClock, _ configuration: NetworkActivityIndicator.Configuration = .init()
    ) -> (NetworkActivityIndicator, Log) {
        let (indicator, log) = (NetworkActivityIndicator(test.views, configuration: configuration, timing: clock), Log())
        indicator.onChange = { log.changes.append($0) }
        return (indicator, log)
    }

    private func advance(_ clock: ManualClock, by duration: Duration) async {
        clock.advance(by: duration)
        await mainQueue()
    }

    /// ACT-1, ACT-2.
    @Test func aRunIsShownAfterASecondAndHiddenAMomentAfterItsEnd() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        indicator.isEnabled = true
        test.session.get("a").start()
        let exchange = await test.mock.exchange(0)
        await eventually { indicator.hasWork }
        await advance(clock, by: .milliseconds(999))
        #expect(log.changes.isEmpty && !indicator.isVisible)
        await advance(clock, by: .milliseconds(1))
        #expect(log.changes == [true] && indicator.isVisible)
        exchange.respond(.ok())
        await eventually { !indicator.hasWork }
        await advance(clock, by: .milliseconds(169))
        #expect(log.changes == [true])
        await advance(clock, by: .milliseconds(1))
        #expect(log.changes == [true, false])
        await test.end()
    }

    /// Defect 14: the second step of one task took another's count. ACT-1.
    @Test func aRunThatIsCancelledWhileSuspendedLeavesOthersCounted() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        indicator.isEnabled = true
        let first = test.session.get("a").start()
        let second = test.session.get("b").start()
        await test.mock.waitForExchanges(2)
        await eventually { test.views.activeRuns == 2 }
        await advance(clock, by: .seconds(1))
        first.suspend()
        await eventually { test.views.activeRuns == 1 }
        first.cancel()
        await eventually { test.session.agent.runs().count == 1 }
        await advance(clock, by: .seconds(1))
        #expect(test.views.activeRuns == 1 && log.changes == [true])
        second.suspend()
        await eventually { !indicator.hasWork }
        second.resume()
        await eventually { indicator.hasWork }
        await advance(clock, by: .seconds(1))
        #expect(log.changes == [true])
        second.cancel()
        await eventually { !indicator.hasWork }
        await advance(clock, by: .seconds(1))
        #expect(log.changes == [true, false])
        await test.end()
    }

    /// Defect 14: one that waits in the queue counts nowhere, whatever becomes of it. ACT-1.
    @Test func aRunInTheQueueDoesNotCount() async throws {
        let test = ViewTest { $0.limits.perHost = 1 }
        let first = test.session.get("a").start()
        await test.mock.waitForExchanges(1)
        let second = test.session.get("b").start()
        await eventually { second.status.stage == .queued && test.views.activeRuns == 1 }
        second.cancel()
        await eventually { test.session.agent.runs().count == 1 }
        #expect(test.views.activeRuns == 1)
        first.cancel()
        await test.end()
        #expect(test.views.activeRuns == 0)
    }

    /// ACT-1.
    @Test func aRunThatWaitsForItsNextAttemptDoesNotCount() async throws {
        let clock = ManualClock()
        let test = ViewTest {
            $0.use(clock)
            $0.options.retry = .standard
        }
        test.session.get("a").start()
        await test.mock.exchange(0).respond(.status(503))
        await clock.waitForTimers(1)
        await eventually { test.views.activeRuns == 0 }
        while test.mock.exchanges.count < 2 { clock.fireNext(); await Task.yield() }
        await eventually { test.views.activeRuns == 1 }
        test.mock.exchanges[1].respond(.ok())
        await test.end()
        #expect(test.views.activeRuns == 0)
    }

    /// ACT-1.
    @Test func workIsCountedByHandToo() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        indicator.decrement()
        indicator.increment()
        indicator.increment()
        indicator.decrement()
        #expect(indicator.hasWork && log.changes.isEmpty)
        indicator.isEnabled = true
        #expect(log.changes == [true])
        indicator.decrement()
        #expect(!indicator.hasWork)
        await advance(clock, by: .milliseconds(170))
        #expect(log.changes == [true, false])
        await test.end()
    }

    /// Enabling while requests ran showed nothing until the next event. ACT-3.
    @Test func itIsOffAtFirstAndShowsAtOnceWhatGoesOnWhenSwitchedOn() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        test.session.get("a").start()
        await test.mock.waitForExchanges(1)
        await eventually { test.views.activeRuns == 1 }
        let (indicator, log) = make(test, clock)
        #expect(!indicator.isEnabled && indicator.hasWork && clock.armedCount == 0)
        indicator.isEnabled = true
        #expect(log.changes == [true])
        indicator.isEnabled = false
        #expect(log.changes == [true, false] && clock.armedCount == 0)
        await test.session.shutdown()
        await test.end()
        #expect(log.changes == [true, false])
    }

    /// ACT-2.
    @Test func onlyWorkWithoutAGapIsShownWhereThatIsAskedFor() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock, .continuous)
        indicator.isEnabled = true
        indicator.increment()
        await advance(clock, by: .milliseconds(500))
        indicator.decrement()
        #expect(clock.armedCount == 0)
        await advance(clock, by: .milliseconds(400))
        indicator.increment()
        await advance(clock, by: .milliseconds(999))
        #expect(log.changes.isEmpty)
        await advance(clock, by: .milliseconds(1))
        #expect(log.changes == [true])
        await test.end()
    }

    /// ACT-3.
    @Test func allSinksAreToldOfChangesAlone() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        let spinner = StatusView()
        indicator.attach(spinner)
        do {
            let gone = StatusView()
            indicator.attach(gone)
        }
        var changes = indicator.makeChanges().makeAsyncIterator()
        #expect(await changes.next() == false)
        indicator.increment()
        indicator.isEnabled = true
        indicator.increment()
        #expect(log.changes == [true] && spinner.log == ["idle", "busy"])
        #expect(await changes.next() == true)
        indicator.isEnabled = false
        #expect(log.changes == [true, false] && spinner.log == ["idle", "busy", "idle"])
        #expect(await changes.next() == false)
        indicator.detach(spinner)
        indicator.isEnabled = true
        #expect(await changes.next() == true)
        #expect(spinner.log == ["idle", "busy", "idle"])
        await test.end()
    }

    /// ACT-3.
    @Test func theActionMaySwitchTheIndicator() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        let spinner = StatusView()
        indicator.attach(spinner)
        indicator.onChange = { [weak indicator] isVisible in
            log.changes.append(isVisible)
            if isVisible { indicator?.isEnabled = false }
        }
        indicator.increment()
        indicator.isEnabled = true
        #expect(log.changes == [true, false] && !indicator.isVisible && spinner.log == ["idle"])
        await test.end()
    }

    /// ACT-3.
    @Test func aSwitchOffAndOnWithinAChangeIsToldToViewsOnce() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        let spinner = StatusView()
        indicator.attach(spinner)
        indicator.onChange = { [weak indicator] isVisible in
            log.changes.append(isVisible)
            guard log.changes.count == 1 else { return }
            indicator?.isEnabled = false
            indicator?.isEnabled = true
        }
        indicator.increment()
        indicator.isEnabled = true
        #expect(log.changes == [true, false, true] && indicator.isVisible && spinner.log == ["idle", "busy"])
        await test.end()
    }

    /// ACT-3.
    @Test func aViewMayComeAndGoWithinAChange() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        let (indicator, log) = make(test, clock)
        let (first, second) = (StatusView(), StatusView())
        indicator.onChange = { [weak indicator] isVisible in
            log.changes.append(isVisible)
            guard log.changes.count == 1 else { return }
            indicator?.attach(first)
            indicator?.isEnabled = false
        }
        indicator.increment()
        indicator.isEnabled = true
        #expect(log.changes == [true, false] && first.log == ["idle"])
        indicator.attach(second)
        first.onBusy = { [weak indicator] in indicator?.detach(second) }
        indicator.isEnabled = true
        #expect(first.log == ["idle", "busy"] && second.log == ["idle"])
        await test.end()
    }

    /// ACT-3.
    @Test func anIndicatorThatGoesEndsItsStreamsAndItsTimer() async throws {
        let (test, clock) = (ViewTest(), ManualClock())
        var made: NetworkActivityIndicator? = NetworkActivityIndicator(test.views, timing: clock)
        made?.isEnabled = true
        made?.increment()
        #expect(clock.armedCount == 1)
        let changes = try #require(made).makeChanges()
        made = nil
        #expect(clock.armedCount == 0)
        var told: [Bool] = []
        for await change in changes { told.append(change) }
        #expect(told == [false])
        test.session.get("a").start()
        await test.mock.exchange(0).respond(.ok())
        await test.end()
    }

    /// ACT-1.
    @Test func oneObserverServesSeveralSessions() async throws {
        let test = ViewTest()
        let other = ViewTest(isObserved: false) { $0.observers.append(test.views) }
        test.session.get("a").start()
        other.session.get("a").start()
        await eventually { test.views.activeRuns == 2 }
        await test.session.shutdown()
        await other.session.shutdown()
        await test.end()
        await other.end()
        #expect(test.views.activeRuns == 0)
    }
}
