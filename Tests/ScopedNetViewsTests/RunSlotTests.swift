import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetViews

/// The spinner of a run, and the list that it refreshes.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct BusySlotTests {
    /// UI-3.
    @Test func itTurnsWhileTheRunGoesOn() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        slot.bind(run)
        #expect(view.log == ["busy"] && slot.isFollowing)
        let exchange = await test.mock.exchange(0)
        run.suspend()
        await eventually { view.log == ["busy", "idle"] }
        run.resume()
        await eventually { view.log == ["busy", "idle", "busy"] }
        exchange.respond(.ok())
        await test.settle()
        await eventually { !slot.isFollowing }
        #expect(view.log == ["busy", "idle", "busy", "idle"])
        await test.end()
    }

    /// Defect 46: a spinner that was bound to a task that had finished turned for ever. UI-3.
    @Test func aRunThatHasEndedStopsIt() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .ok())
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        await test.settle()
        slot.bind(run)
        #expect(view.log == ["idle"] && !slot.isFollowing && test.views.followerCount == 0)
        await test.end()
    }

    /// UI-3.
    @Test(arguments: [true, false]) func aCancelStopsIt(isObserved: Bool) async throws {
        let test = ViewTest(isObserved: isObserved)
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        slot.bind(run)
        await test.mock.waitForExchanges(1)
        run.cancel()
        await eventually { view.log == ["busy", "idle"] }
        #expect(!slot.isFollowing)
        await test.end()
    }

    /// UI-3.
    @Test func noRunUnbinds() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        slot.bind(run)
        slot.bind(nil)
        #expect(view.log == ["busy", "idle"] && test.views.followerCount == 0)
        run.cancel()
        await test.end()
        #expect(view.log == ["busy", "idle"])
    }

    /// Two runs at one spinner do not fight. UI-3, defect 46.
    @Test func anotherRunTakesTheSpinner() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = BusySlot(for: view)
        let first = test.session.get("a").start()
        slot.bind(first)
        let second = test.session.get("b").start()
        slot.bind(second)
        await test.mock.waitForExchanges(2)
        first.cancel()
        await eventually { test.session.agent.runs().count == 1 }
        await mainQueue()
        #expect(view.log == ["busy", "busy"])
        second.cancel()
        await eventually { view.log == ["busy", "busy", "idle"] }
        await test.end()
    }

    /// Events that wait for the delivery queue are older than the binding, which has looked at the run itself. UI-3.
    @Test func newsFromBeforeTheBindingAreNotTold() async throws {
        let executor = ManualExecutor()
        let test = ViewTest { $0.use(executor) }
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        await test.mock.waitForExchanges(1)
        run.suspend()
        run.resume()
        slot.bind(run)
        executor.runAll()
        await mainQueue()
        #expect(view.log == ["busy"])
        run.suspend()
        executor.runAll()
        await mainQueue()
        #expect(view.log == ["busy", "idle"])
        run.cancel()
        await eventually {
            executor.runAll()
            return test.session.agent.runs().isEmpty
        }
        await test.end()
        // The end of the attempt, of which nobody is told.
        executor.runAll()
    }

    /// UI-4.
    @Test func aListFollowsARunningRunAlone() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        await test.mock.waitForExchanges(1)
        run.suspend()
        slot.bind(run, following: .running)
        #expect(view.log == ["idle"] && !slot.isFollowing)
        run.resume()
        slot.bind(run, following: .running)
        #expect(view.log == ["idle", "busy"] && slot.isFollowing)
        run.suspend()
        await eventually { view.log.count >= 3 }
        run.resume()
        await eventually { view.log == ["idle", "busy", "idle", "busy"] }
        run.cancel()
        await eventually { view.log == ["idle", "busy", "idle", "busy", "idle"] }
        await test.end()
    }

    /// A refresh control ignored a suspended task for ever; here it is a choice. UI-4.
    @Test func aListMayWaitForASuspendedRun() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = BusySlot(for: view)
        let run = test.session.get("a").start()
        await test.mock.waitForExchanges(1)
        run.suspend()
        slot.bind(run)
        #expect(view.log == ["idle"] && slot.isFollowing)
        run.resume()
        await eventually { view.log == ["idle", "busy"] }
        run.cancel()
        await eventually { view.log == ["idle", "busy", "idle"] }
        await test.end()
    }

    /// Defect 46: the observer outlived the view, and crashed. UI-3.
    @Test func aViewThatDiesEndsItsBinding() async throws {
        let test = ViewTest()
        var view: StatusView? = StatusView()
        var slot = view.map { BusySlot(for: $0) }
        let run = test.session.get("a").start()
        slot?.bind(run)
        view = nil
        await test.mock.waitForExchanges(1)
        run.suspend()
        run.resume()
        await eventually { test.views.followerCount == 0 }
        #expect(run.status.isExecuting && slot?.isFollowing == false)
        run.cancel()
        slot = nil
        await test.end()
    }

    /// A spinner of a run that is followed no more does not turn for ever. UI-3, defect 46.
    @Test(arguments: SlotEnd.allCases) func theEndOfTheSlotStopsIt(_ end: SlotEnd) async throws {
        let test = ViewTest()
        let (view, bag) = (StatusView(), DeallocBag())
        var slot: BusySlot<StatusView>? = BusySlot(for: view, in: bag)
        let run = test.session.get("a").start()
        slot?.bind(run)
        await test.mock.waitForExchanges(1)
        switch end {
        case .cancel: slot?.cancel()
        case .bag: bag.end()
        case .release: slot = nil
        }
        await eventually { view.log == ["busy", "idle"] }
        #expect(run.status.isExecuting && slot?.isFollowing != true && test.views.followerCount == 0)
        run.cancel()
        await test.end()
        #expect(view.log == ["busy", "idle"])
    }
}

/// The bar of a run.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ProgressSlotTests {
    /// UI-5.
    @Test func itShowsTheShareThatHasCome() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        slot.bind(test.session.get("a").start())
        #expect(view.log == ["unknown", "goes on"])
        let exchange = await test.mock.exchange(0)
        exchange.receiveHead(headers: [.contentLength: "8"])
        exchange.receive("1234")
        exchange.reportReceived(4, of: 8)
        await eventually { view.log.last == "0.5" }
        exchange.receive("5678")
        exchange.finish()
        await test.settle()
        await eventually { !slot.isFollowing }
        #expect(view.log.suffix(2) == ["1.0", "end"] && test.views.followerCount == 0)
        await test.end()
    }

    /// UI-5, defect 46.
    @Test(arguments: SlotEnd.allCases) func theEndOfTheSlotEndsIt(_ end: SlotEnd) async throws {
        let test = ViewTest()
        let (view, bag) = (StatusView(), DeallocBag())
        var slot: ProgressSlot<StatusView>? = ProgressSlot(for: view, in: bag)
        let run = test.session.get("a").start()
        slot?.bind(run)
        await test.mock.waitForExchanges(1)
        switch end {
        case .cancel: slot?.cancel()
        case .bag: bag.end()
        case .release: slot = nil
        }
        await eventually { view.log == ["unknown", "goes on", "end"] }
        // The end of one that was cancelled is not taken for that of the next.
        slot?.cancel()
        if end == .cancel {
            slot?.bind(run)
            slot?.cancel()
            slot?.bind(run)
            await mainQueue()
            #expect(view.log.suffix(3) == ["goes on", "unknown", "goes on"] || view.log.suffix(2) == ["unknown", "goes on"])
        }
        run.cancel()
        await test.end()
        #expect(view.log.last == "end")
    }

    /// UI-5.
    @Test func anUnknownLengthIsSaid() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        let run = test.session.get("a").start()
        slot.bind(run)
        let exchange = await test.mock.exchange(0)
        exchange.receiveHead()
        exchange.reportReceived(4, of: nil)
        await eventually { view.log == ["unknown", "goes on", "unknown"] }
        run.cancel()
        await eventually { view.log.last == "end" }
        await test.end()
    }

    /// UI-5.
    @Test func theBodyThatIsSentCountsWhereItIsAskedFor() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        slot.bind(test.session.post("a", body: .data(Data("12345678".utf8))).start(), direction: .sending, animated: false)
        let exchange = await test.mock.exchange(0)
        exchange.reportSent(2, of: 8)
        await eventually { view.log.last == "0.25, at once" }
        exchange.reportReceived(1, of: 2)
        exchange.respond(.ok("12"))
        await test.settle()
        await eventually { !slot.isFollowing }
        #expect(!view.log.contains("0.5, at once") && view.log.last == "end")
        await test.end()
    }

    /// UI-5.
    @Test func itFollowsSuspendAndResume() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        let run = test.session.get("a").start()
        slot.bind(run)
        let exchange = await test.mock.exchange(0)
        run.suspend()
        await eventually { view.log.last == "paused" }
        run.resume()
        await eventually { view.log.last == "goes on" }
        exchange.receiveHead(headers: [.contentLength: "4"])
        exchange.reportReceived(1, of: 4)
        await eventually { view.log.last == "0.25" }
        run.suspend()
        await eventually { view.log.last == "paused" }
        slot.bind(run)
        #expect(view.log.suffix(3) == ["end", "unknown", "paused"])
        run.cancel()
        await eventually { view.log.last == "end" }
        await test.end()
    }

    /// Defect 46: an earlier task stayed attached, and two bars fought. UI-5.
    @Test func thereAreNeverTwoSourcesAtOneView() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        slot.bind(test.session.get("a").start())
        let first = await test.mock.exchange(0)
        slot.bind(test.session.get("b").start())
        let second = await test.mock.exchange(1)
        #expect(test.views.followerCount == 1)
        for exchange in [first, second] { exchange.receiveHead(headers: [.contentLength: "8"]) }
        first.reportReceived(2, of: 8)
        second.reportReceived(4, of: 8)
        await eventually { view.log.last == "0.5" }
        first.respond(.ok("12345678"))
        await eventually { test.session.agent.runs().count == 1 }
        await mainQueue()
        #expect(view.log == ["unknown", "goes on", "end", "unknown", "goes on", "0.5"])
        second.fail()
        await test.end()
        await eventually { view.log.last == "end" }
    }

    /// UI-5.
    @Test func aRunThatHasEndedIsNotFollowed() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .ok())
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        let run = test.session.get("a").start()
        await test.settle()
        slot.bind(run)
        slot.bind(nil)
        #expect(view.log.isEmpty && !slot.isFollowing)
        await test.end()
    }

    /// Defect 46: the observer outlived the view, and crashed. UI-5.
    @Test func aViewThatDiesIsNotAskedForAnything() async throws {
        let test = ViewTest()
        var view: StatusView? = StatusView()
        let bag = DeallocBag()
        let slot = try ProgressSlot(for: #require(view), in: bag)
        slot.bind(test.session.get("a").start())
        let exchange = await test.mock.exchange(0)
        view = nil
        exchange.receiveHead(headers: [.contentLength: "4"])
        exchange.reportReceived(1, of: 4)
        await eventually { test.views.followerCount == 0 }
        #expect(!slot.isFollowing)
        exchange.respond(.ok("1234"))
        await test.end()
        bag.end()
        withExtendedLifetime(slot) {}
    }

    /// Without an observer the end is told all the same.
    @Test func aSessionWithoutObserverTellsTheEnd() async throws {
        let test = ViewTest(isObserved: false)
        let view = StatusView()
        let slot = ProgressSlot(for: view)
        slot.bind(test.session.get("a").start())
        await test.mock.exchange(0).respond(.ok("1234"))
        await test.settle()
        await eventually { view.log == ["unknown", "goes on", "end"] }
        await test.end()
    }

    @Test func aBagEndsIt() async throws {
        let test = ViewTest()
        let (view, bag) = (StatusView(), DeallocBag())
        let slot = ProgressSlot(for: view, in: bag)
        let run = test.session.get("a").start()
        slot.bind(run)
        bag.end()
        #expect(!slot.isFollowing && test.views.followerCount == 0)
        slot.bind(run)
        #expect(!slot.isFollowing && run.status.isExecuting)
        run.cancel()
        await test.end()
    }

    /// Runs end, and slots are cancelled, on any thread at any moment of a binding.
    @Test func endsOnOtherThreadsLeaveNothing() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .ok("1234").inPieces(of: 1))
        for round in 0..<100 {
            let view = StatusView()
            let (bar, spinner) = (ProgressSlot(for: view), BusySlot(for: view))
            let run = test.session.get("a").start()
            for _ in 0..<round % 10 { await Task.yield() }
            bar.bind(run)
            spinner.bind(run)
            if round.isMultiple(of: 3) { await cancel(run) }
            if round.isMultiple(of: 4) { await cancel(bar) }
            await test.settle()
            await eventually { !bar.isFollowing && !spinner.isFollowing }
            #expect(view.log.last { $0 == "busy" || $0 == "idle" } == "idle")
        }
        await test.end()
        #expect(test.views.followerCount == 0)
    }

    @concurrent private func cancel(_ run: Run) async { run.cancel() }
    @concurrent private func cancel(_ slot: ProgressSlot<StatusView>) async { slot.cancel() }

    @Test func fractionsAreCutToTheirRange() {
        #expect([-1, 0.5, 7, .nan].map { ProgressValue($0).fraction } == [0, 0.5, 1, 0])
        #expect(ProgressValue(nil) == .indeterminate)
    }
}

/// The errors of runs in words.
@MainActor @Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ErrorSlotTests {
    /// UI-7.
    @Test(arguments: [true, false]) func anErrorIsShownWithItsAdvice(isObserved: Bool) async throws {
        let test = ViewTest(unanswered: .fail, isObserved: isObserved)
        test.mock.on("a", .failing(.connectionLost))
        test.mock.on("b", .ok())
        let view = StatusView()
        let slot = ErrorSlot(for: view)
        let run = test.session.get("a").start()
        slot.follow(run)
        slot.follow(run)
        slot.follow(test.session.get("b").start())
        await eventually { !view.log.isEmpty }
        let error = try #require(await test.session.get("a").outcome())
        let text = ErrorText(error)
        #expect(text.recovery != nil && view.log == ["\(text.text) | \(text.recovery ?? "")"])
        slot.follow(run)
        await eventually { view.log.count == 2 }
        await test.end()
    }

    /// UI-7.
    @Test func aCancelIsNoError() async throws {
        let test = ViewTest()
        let view = StatusView()
        let slot = ErrorSlot(for: view)
        let run = test.session.get("a").start()
        slot.follow(run)
        await test.mock.waitForExchanges(1)
        run.cancel()
        await test.settle()
        slot.present(CancellationError())
        slot.present(ImageLoadErrors.cancelled)
        #expect(view.log.isEmpty)
        slot.present(ImageLoadErrors.damaged)
        #expect(view.log.count == 1 && view.log[0].hasSuffix("| no advice"))
        await test.end()
    }

    @Test func itFollowsNoRunAfterACancelAndTheEndOfItsBag() async throws {
        let test = ViewTest(unanswered: .fail)
        test.mock.on("a", .failing(.connectionLost))
        let (view, bag) = (StatusView(), DeallocBag())
        let slot = ErrorSlot(for: view, in: bag)
        slot.follow(test.session.get("a").start())
        slot.cancel()
        await test.settle()
        bag.end()
        slot.follow(test.session.get("a").start())
        await test.end()
        #expect(view.log.isEmpty && test.views.followerCount == 0)
    }
}
