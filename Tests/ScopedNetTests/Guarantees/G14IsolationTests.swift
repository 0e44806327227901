import CleanSlate
import Dispatch
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// G14: a callback runs on the actor that registered it, else on the session's delivery queue.
@Suite(.leavesNothing) struct G14IsolationTests {
    @MainActor final class Model {
        var heard: [String] = []
        func load(_ session: Session, in bag: DeallocBag) {
            session.request("http://h/")
                .onSuccess(for: self) { model, data in
                    MainActor.assertIsolated()
                    model.heard.append("owner \(data.count)")
                }
                .onSuccess { _ in
                    MainActor.assertIsolated()
                    self.heard.append("plain")
                }
                .onEnd(for: self) { model, _ in model.heard.append("end") }
                .start(in: bag)
        }
    }

    // SES-7
    @Test @MainActor func onTheMainActorWithoutAHop() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        let model = Model()
        let bag = DeallocBag()
        model.load(session, in: bag)
        await stage.waitForStarts(1)
        stage.succeed(stage.started[0])
        await session.agent.waitUntilIdle()
        #expect(model.heard == ["owner 2", "plain", "end"])
    }

    actor Worker {
        var heard: [Int] = []
        func load(_ session: Session) {
            session.request("http://h/").onSuccess(for: self) { worker, data in
                worker.assertIsolated()
                worker.heard.append(data.count)
            }.start()
        }
    }

    @Test func insideAnActorThatIsTheOwner() async throws {
        try await withStage { session, stage in
            let worker = Worker()
            await worker.load(session)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(await worker.heard == [2])
        }
    }

    @Test func anActorIsNotKeptAliveByItsCallbacks() async throws {
        try await withStage { session, stage in
            weak var weakWorker: Worker?
            do {
                let worker = Worker()
                weakWorker = worker
                await worker.load(session)
            }
            await stage.waitForStarts(1)
            #expect(weakWorker == nil)
            stage.succeed(stage.started[0])
        }
    }

    // SES-7
    @Test func elseOnTheDeliveryQueue() async throws {
        let key = DispatchSpecificKey<String>()
        let queue = DispatchQueue(label: "mine")
        queue.setSpecific(key: key, value: "mine")
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent(), deliveryQueue: queue))
        let trace = Trace()
        register(session, key, trace)
        await stage.waitForStarts(1)
        stage.succeed(stage.started[0])
        await session.agent.waitUntilIdle()
        #expect(trace.lines == ["mine"])
    }

    nonisolated private func register(_ session: Session, _ key: DispatchSpecificKey<String>, _ trace: Trace) {
        session.request("http://h/").onSuccess { _ in trace.add(DispatchQueue.getSpecific(key: key) ?? "elsewhere") }.start()
    }

    /// SES-6: callbacks of one run that belong to different places keep their order all the same.
    @Test func mixedPlacesKeepTheOrder() async throws {
        try await withStage { session, stage in
            let trace = Trace()
            let request = session.request("http://h/")
            register(request, trace)
            await MainActor.run {
                _ = request.onSuccess { _ in
                    MainActor.assertIsolated()
                    trace.add("main")
                }.onDownloadProgress { _ in
                    MainActor.assertIsolated()
                    trace.add("progress")
                }
            }
            request.onEnd { _ in trace.add("end") }.start()
            await stage.waitForStarts(1)
            stage.received(stage.started[0], 2, of: 2)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(trace.lines.filter { $0 != "progress" } == ["nonisolated", "main", "end"])
            #expect(trace.lines.first == "progress")
        }
    }

    nonisolated private func register(_ request: Request<Data>, _ trace: Trace) {
        _ = request.onSuccess { _ in trace.add("nonisolated") }
    }

    @MainActor final class MainDelegate: @MainActor RequestDelegate {
        var heard: [String] = []
        func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {
            MainActor.assertIsolated()
            heard.append("success")
        }
        func request(_ run: Run.Info, didFailWith error: NetworkError) { heard.append("failure") }
        func requestDidEnd(_ run: Run.Info) { heard.append("end") }
    }

    @Test @MainActor func anIsolatedDelegateIsCalledOnItsActor() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        let delegate = MainDelegate()
        session.request("http://h/").delegate(delegate).start()
        await stage.waitForStarts(1)
        stage.succeed(stage.started[0])
        await session.agent.waitUntilIdle()
        #expect(delegate.heard == ["success", "end"])
    }
}
