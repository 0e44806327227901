import CleanSlate
import Foundation
import Persistence
import ScopedNetTestServer
import ScopedNetTesting
import SystemSupport
import Testing

@_spi(Transport) @testable import ScopedNet

/// G2, G3, G4, G8: every call is admitted for itself. After a cancel or a bag's end has returned, no further call of the run begins but `onEnd`.
@Suite(.leavesNothing) struct G03SilenceTests {
    /// The ways to silence a run.
    enum Stop: CaseIterable, Sendable {
        case cancel, bagEnd, bagDeinit, bagCancelAll, parentEnd, parentCancelAll, furtherBagEnd, furtherBagCancelAll, agentCancelAll

        var reason: CancelReason {
            switch self {
            case .cancel, .bagCancelAll, .furtherBagCancelAll, .agentCancelAll: .explicit
            // A child ends when its parent's members are cancelled.
            case .parentCancelAll: .explicit
            case .bagEnd, .bagDeinit, .parentEnd, .furtherBagEnd: .ownerReleased
            }
        }
    }

    enum Place: CaseIterable, Sendable { case inTheCall, onAnotherThread }

    /// Where the calls are made.
    enum Executors: CaseIterable, Sendable { case deliveryQueue, mainActor, mixed }

    /// Stops the run the first time a call of one name begins, and notes every call.
    final class Script: Sendable {
        let trace = Trace()
        private let name: String
        private let stop: Stop
        private let place: Place
        private let run = Lock<Run?>(nil)
        private let parent = DeallocBag()
        private let bag: Lock<DeallocBag?>
        private let furtherBag = DeallocBag()
        private let stopped = Lock(false)
        /// The run is in all its bags, and known here.
        private let isReady = DispatchSemaphore(value: 0)
        let answer = Lock<Run.CancelResult?>(nil)

        init(at name: String, _ stop: Stop, _ place: Place) {
            self.name = name
            self.stop = stop
            self.place = place
            bag = Lock(parent.child())
        }

        func start<Value>(_ request: Request<Value>) {
            let run = bag.withLock { request.start(in: $0!) }
            run.store(in: furtherBag)
            self.run.withLock { $0 = run }
            isReady.signal()
        }

        func reach(_ name: String) {
            isReady.wait()
            isReady.signal()
            trace.add(name)
            let isFirst = stopped.withLock { stopped in
                defer { stopped = stopped || name == self.name }
                return name == self.name && !stopped
            }
            guard isFirst else { return }
            guard place == .onAnotherThread else { return halt() }
            let isThrough = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                self.halt()
                isThrough.signal()
            }
            isThrough.wait()
        }

        private func halt() {
            switch stop {
            case .cancel:
                let result = run.withLock { $0 }?.cancel()
                answer.withLock { $0 = result }
                #expect(run.withLock { $0 }?.cancel() == .callbackRunning)
            case .bagEnd: bag.withLock { $0 }?.end()
            case .bagDeinit:
                let last = bag.withLock { bag in
                    defer { bag = nil }
                    return bag
                }
                _ = last
            case .bagCancelAll: bag.withLock { $0 }?.cancelAll()
            case .parentEnd: parent.end()
            case .parentCancelAll: parent.cancelAll()
            case .furtherBagEnd: furtherBag.end()
            case .furtherBagCancelAll: furtherBag.cancelAll()
            case .agentCancelAll: run.withLock { $0 }?.core.agent.cancelAll()
            }
        }

        func release() { run.withLock { $0 = nil } }

        /// What came after the stop.
        var following: [String] {
            let lines = trace.lines
            guard let index = lines.firstIndex(of: name) else { return ["never came to \(name)"] }
            return Array(lines[(index + 1)...])
        }
    }

    final class Delegate: RequestDelegate, Sendable {
        let script: Script
        init(_ script: Script) { self.script = script }
        func requestDidStart(_ run: Run.Info) { script.reach("did start") }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { script.reach("did receive head") }
        func request(_ run: Run.Info, didSend progress: TransferProgress) { script.reach("did send") }
        func request(_ run: Run.Info, didReceive progress: TransferProgress) { script.reach("did receive") }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { script.reach("did succeed") }
        func request(_ run: Run.Info, didFailWith error: NetworkError) { script.reach("did fail") }
        func requestDidEnd(_ run: Run.Info) { script.reach("did end") }
    }

    @MainActor final class MainDelegate: @MainActor RequestDelegate {
        let script: Script
        init(_ script: Script) { self.script = script }
        func requestDidStart(_ run: Run.Info) { script.reach("did start") }
        func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { script.reach("did receive head") }
        func request(_ run: Run.Info, didSend progress: TransferProgress) { script.reach("did send") }
        func request(_ run: Run.Info, didReceive progress: TransferProgress) { script.reach("did receive") }
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) { script.reach("did succeed") }
        func request(_ run: Run.Info, didFailWith error: NetworkError) { script.reach("did fail") }
        func requestDidEnd(_ run: Run.Info) { script.reach("did end") }
    }

    private static let events = [
        "did start", "did receive head", "head 1", "head 2", "did send", "sent 1", "sent 2", "did receive", "received 1", "received 2",
    ]
    private static let successes = ["observer", "did succeed", "did end", "success 1", "success 2", "response"]
    private static let failures = ["observer", "did fail", "did end", "failure 1", "failure 2"]

    /// Two closures of each kind, by turns on the main actor where the executors are mixed.
    private static func arm(_ request: Request<Data>, _ script: Script, _ executors: Executors) {
        func add(_ name: String, main: Bool, _ register: (@escaping @Sendable () -> Void) -> Void, _ registerOnMain: () -> Void) {
            switch executors {
            case .deliveryQueue: register { script.reach(name) }
            case .mainActor: registerOnMain()
            case .mixed: main ? registerOnMain() : register { script.reach(name) }
            }
        }
        for (name, main) in [("head 1", false), ("head 2", true)] {
            add(name, main: main, { call in _ = request.onResponseHead { _ in call() } }) {
                _ = request.onResponseHead { @MainActor _ in script.reach(name) }
            }
        }
        for (name, main) in [("sent 1", false), ("sent 2", true)] {
            add(name, main: main, { call in _ = request.onUploadProgress { _ in call() } }) {
                _ = request.onUploadProgress { @MainActor _ in script.reach(name) }
            }
        }
        for (name, main) in [("received 1", true), ("received 2", false)] {
            add(name, main: main, { call in _ = request.onDownloadProgress { _ in call() } }) {
                _ = request.onDownloadProgress { @MainActor _ in script.reach(name) }
            }
        }
        for (name, main) in [("success 1", false), ("success 2", true)] {
            add(name, main: main, { call in _ = request.onSuccess { _ in call() } }) {
                _ = request.onSuccess { @MainActor _ in script.reach(name) }
            }
        }
        add("response", main: false, { call in _ = request.onResponse { _ in call() } }) {
            _ = request.onResponse { @MainActor _ in script.reach("response") }
        }
        for (name, main) in [("failure 1", true), ("failure 2", false)] {
            add(name, main: main, { call in _ = request.onFailure { _ in call() } }) {
                _ = request.onFailure { @MainActor _ in script.reach(name) }
            }
        }
        _ = request.onEnd { script.trace.add("end \(Self.name($0))") }
    }

    private static func name(_ reason: EndReason) -> String {
        switch reason {
        case .succeeded: "succeeded"
        case .failed: "failed"
        case .cancelled(let reason): "\(reason)"
        }
    }

    final class Watcher: RequestObserver {
        private let script = Lock<Script?>(nil)
        func watch(_ script: Script?) { self.script.withLock { $0 = script } }
        func observe(_ event: RequestEvent) {
            guard case .finished = event.kind else { return }
            script.withLock { $0 }?.reach("observer")
        }
    }

    // YTK-7
    @Test(arguments: Stop.allCases, Executors.allCases)
    func noCallFollowsAStopBetweenAnyTwo(stop: Stop, executors: Executors) async throws {
        let watcher = Watcher()
        try await withHouse(.init(), { $0.observers = [watcher] }) { house in
            house.server.on("/ok", .ok("hello"))
            house.server.on("/no", ScriptedResponse(status: 404, body: .bytes(Array("no".utf8))))
            for (path, calls) in [("/ok", Self.events + Self.successes), ("/no", Self.failures)] {
                for place in Place.allCases {
                    for call in calls {
                        let script = Script(at: call, stop, place)
                        watcher.watch(script)
                        let request = house.session.request(house.url(path), method: .post, body: .data(Data("body".utf8)))
                        let mainDelegate = await MainActor.run { MainDelegate(script) }
                        let delegate = Delegate(script)
                        if executors == .deliveryQueue {
                            _ = request.delegate(sendable: delegate)
                        } else {
                            await MainActor.run { _ = request.delegate(mainDelegate) }
                        }
                        Self.arm(request, script, executors)
                        script.start(request)
                        await house.agent.waitUntilIdle()
                        let isEvent = Self.events.contains(call)
                        let end = isEvent ? "\(stop.reason)" : path == "/ok" ? "succeeded" : "failed"
                        #expect(script.following == ["end \(end)"], "\(stop) \(place) at \(call)")
                        if stop == .cancel { #expect(script.answer.withLock { $0 } == .callbackRunning, "\(place) at \(call)") }
                        script.release()
                        watcher.watch(nil)
                        withExtendedLifetime((delegate, mainDelegate)) {}
                    }
                }
            }
        }
    }

    /// The stored value goes to two closures, and then the server's to two others.
    @Test(arguments: ["cached 1", "cached 2", "success 1", "success 2"])
    func noCallFollowsAStopInAStoredOrAFreshDelivery(call: String) async throws {
        let folder = NSTemporaryDirectory() + "silence-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await withHouse(.init(), { $0.cache = ResponseCache(StoreConfiguration(directory: folder)) }) { house in
            house.server.on("/a", ScriptedResponse.ok("hello").header("Cache-Control", "max-age=1000"))
            _ = try await house.session.request(house.url("/a")).value()
            for stop in [Stop.cancel, .bagEnd, .bagCancelAll] {
                let script = Script(at: call, stop, .inTheCall)
                let request = house.session.request(house.url("/a")).options { $0.cache.read = .thenNetwork }
                for name in ["cached 1", "cached 2"] { _ = request.onCached { _ in script.reach(name) } }
                for name in ["success 1", "success 2"] { _ = request.onSuccess { _ in script.reach(name) } }
                _ = request.onEnd { script.trace.add("end \(Self.name($0))") }
                script.start(request)
                await house.agent.waitUntilIdle()
                #expect(script.following == ["end \(call.hasPrefix("cached") ? "\(stop.reason)" : "succeeded")"], "\(stop)")
                script.release()
            }
        }
    }

    // MARK: Between two calls

    /// The second of two calls belongs to another executor, which is busy when the run is cancelled.
    @Test func aCancelBetweenTwoCallsOfAnEndingSilencesTheSecond() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let probe = Lock<[String]>([])
            let queue = DispatchQueue(label: "second")
            let origin = CodeOrigin("test", 1)
            let request = session.request("http://h/")
            request.arm { handlers in
                let fate = Fate { probe.withLock { $0.append(Self.isOn(session) ? "on the delivery queue" : "elsewhere") } }
                handlers.success.append(CallbackHandler(lane: session.lane, origin: origin) { _ in trace.add("first") })
                handlers.success.append(
                    CallbackHandler(lane: DeliveryLane(queue: queue), origin: origin) { _ in
                        _ = fate
                        trace.add("second")
                    })
            }
            _ = request.onEnd { reason in
                probe.withLock { $0.append("end") }
                trace.add("end \(Self.name(reason))")
            }
            let lane = session.configuration.deliveryQueue
            lane.setSpecific(key: Self.key, value: true)
            queue.suspend()
            let run = request.start()
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await trace.wait(for: 1)
            // The first call is over when the queue has gone on.
            lane.sync {}
            #expect(run.cancel() == .callbackRunning)
            queue.resume()
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["first", "end succeeded"])
            #expect(probe.withLock { $0 } == ["on the delivery queue", "end"])
            #expect(run.cancel() == .alreadyEnded)
            lane.setSpecific(key: Self.key, value: nil)
        }
    }

    /// Nothing is running then, and the closures go at once.
    @Test func aCancelBetweenTwoCallsOfAnEventIsAtOnce() async throws {
        try await withStage { session, stage in
            let (trace, queue) = (Trace(), DispatchQueue(label: "second"))
            let origin = CodeOrigin("test", 1)
            let request = session.request("http://h/")
            weak var canary: Canary?
            request.arm { handlers in
                let captured = Canary()
                canary = captured
                handlers.received.append(CallbackHandler(lane: session.lane, origin: origin) { _ in trace.add("first") })
                handlers.received.append(
                    CallbackHandler(lane: DeliveryLane(queue: queue), origin: origin) { _ in
                        _ = captured
                        trace.add("second")
                    })
            }
            _ = request.onEnd { trace.add("end \(Self.name($0))") }
            queue.suspend()
            let run = request.start()
            await stage.waitForStarts(1)
            stage.received(stage.started[0], 1, of: 2)
            await trace.wait(for: 1)
            session.configuration.deliveryQueue.sync {}
            #expect(run.cancel() == .cancelled)
            #expect(canary == nil)
            queue.resume()
            await session.agent.waitUntilIdle()
            #expect(trace.lines == ["first", "end explicit"])
        }
    }

    // MARK: What was not called

    @Test func whatWasNotCalledIsDestroyedOnTheDeliveryQueueBeforeTheEnd() async throws {
        try await withStage { session, stage in
            let probe = Lock<[String]>([])
            let queue = session.configuration.deliveryQueue
            queue.setSpecific(key: Self.key, value: true)
            let request = session.request("http://h/")
            let agent = session.agent
            let run = Lock<Run?>(nil)
            do {
                // Its deinit comes back through every door, so that a lock that is held would be noticed.
                let fate = Fate {
                    _ = agent.liveCount
                    _ = run.withLock { $0 }?.cancel()
                    probe.withLock { $0.append(Self.isOn(session) ? "on the delivery queue" : "elsewhere") }
                }
                _ = request.onSuccess { _ in _ = run.withLock { $0 }?.cancel() }
                    .onSuccess { _ in withExtendedLifetime(fate) { probe.withLock { $0.append("called") } } }
                    .onEnd { _ in probe.withLock { $0.append("end") } }
            }
            let started = request.start()
            run.withLock { $0 = started }
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await agent.waitUntilIdle()
            #expect(probe.withLock { $0 } == ["on the delivery queue", "end"])
            run.withLock { $0 = nil }
            queue.setSpecific(key: Self.key, value: nil)
        }
    }

    // SES-7
    @Test @MainActor func ownerBoundClosuresFallSilentWithTheirPage() async throws {
        @MainActor final class Page {
            let bag = DeallocBag()
            let trace: Trace
            init(_ trace: Trace) { self.trace = trace }
        }
        let transport = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: transport, agent: RequestAgent()))
        let trace = Trace()
        let shown = Lock<Bool>(true)
        var page: Page? = Page(trace)
        let close: @MainActor () -> Void = { page = nil }
        session.request("http://h/")
            .onSuccess { @MainActor _ in
                trace.add("first")
                close()
                shown.withLock { $0 = false }
            }
            .onSuccess { @MainActor _ in trace.add("second") }
            .onEnd(for: page!) { @MainActor page, _ in page.trace.add("end of the page") }
            .onEnd { trace.add("end \(Self.name($0))") }
            .start(in: page!.bag)
        await transport.waitForStarts(1)
        transport.succeed(transport.started[0])
        await session.agent.waitUntilIdle()
        #expect(trace.lines == ["first", "end succeeded"])
        #expect(shown.withLock { $0 } == false)
    }

    /// An `await` on a request that has closures too is resumed with the outcome that was admitted.
    @Test func anAwaitIsResumedWithTheOutcomeThatWasAdmitted() async throws {
        try await withHouse { house in
            house.server.on("/a", .ok("hello"))
            let request = house.session.request(house.url("/a"))
            let trace = Trace()
            _ = request.onSuccess { _ in
                trace.add("first \(request.cancel())")
            }.onSuccess { _ in trace.add("second") }
            let value = try await request.value()
            #expect(value == Data("hello".utf8))
            #expect(trace.lines == ["first callbackRunning"])
        }
    }

    private static let key = DispatchSpecificKey<Bool>()
    private static func isOn(_ session: Session) -> Bool { DispatchQueue.getSpecific(key: key) == true }

    final class Fate: Sendable {
        private let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }
}
