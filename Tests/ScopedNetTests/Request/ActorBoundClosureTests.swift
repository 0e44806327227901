import CleanSlate
import Foundation
import ScopedNetTesting
import Testing

@_spi(Transport) @testable import ScopedNet

/// Owners of any class, in code that runs on an actor. What does not compile is in `Tests/CompileTime`.
@Suite(.leavesNothing) struct ActorBoundClosureTests {
    /// Neither Sendable nor on an actor.
    final class Plain {
        var heard: [String] = []
    }

    @Test @MainActor func aPlainOwnerIsCalledOnTheActorThatRegisteredIt() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        let owner = Plain()
        let bag = DeallocBag()
        session.request("http://h/")
            .onSuccess(for: owner) { owner, data in
                MainActor.assertIsolated()
                owner.heard.append("success \(data.count)")
            }
            .decideDisposition(for: owner) { owner, _ in
                await Task.yield()
                MainActor.assertIsolated()
                owner.heard.append("disposition")
                return .allow
            }
            .onEnd(for: owner) { owner, _ in owner.heard.append("end") }
            .start(in: bag)
        await stage.waitForStarts(1)
        stage.succeed(stage.started[0])
        await session.agent.waitUntilIdle()
        #expect(owner.heard.filter { $0 != "disposition" } == ["success 2", "end"])
    }

    actor Worker {
        private let plain = Plain()
        var heard: [String] { plain.heard }

        func load(_ session: Session) {
            session.request("http://h/").onSuccess(for: plain) { [self] plain, _ in
                assertIsolated()
                plain.heard.append("success")
            }.start()
        }
    }

    @Test func aPlainOwnerInsideAnActorIsCalledThere() async throws {
        try await withStage { session, stage in
            let worker = Worker()
            await worker.load(session)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(await worker.heard == ["success"])
        }
    }

    actor Keeper: RequestOwner {
        nonisolated let deallocBag = DeallocBag()
        private(set) var heard: [String] = []

        func load(_ session: Session) {
            session.request("http://h/", decoder: .text).start(for: self) { keeper, result in keeper.heard.append("\(result)") }
        }
    }

    @Test func anActorThatOwnsIsCalledInside() async throws {
        try await withStage { session, stage in
            let keeper = Keeper()
            await keeper.load(session)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(await keeper.heard.count == 1)
        }
    }

    /// Says on which actor it died.
    final class Captured {
        let died: @Sendable () -> Void
        init(_ died: @escaping @Sendable () -> Void) { self.died = died }
        deinit { died() }
    }

    /// Returns when its deinit has run, on whatever thread.
    @MainActor private func arm(_ request: Request<Data>, _ owner: Plain, _ died: @escaping @Sendable () -> Void) {
        let captured = Captured(died)
        _ = request.onSuccess(for: owner) { _, _ in _ = captured }
    }

    @Test @MainActor func aClosureCancelledFromAnotherThreadIsDestroyedOnItsActor() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        let owner = Plain()
        let deaths = Trace()
        let request = session.request("http://h/")
        arm(request, owner) { deaths.add(Thread.isMainThread || DispatchQueue.isMain ? "main" : "elsewhere") }
        let run = request.start()
        await stage.waitForStarts(1)
        await Task.detached { _ = run.cancel() }.value
        await deaths.wait(for: 1)
        #expect(deaths.lines == ["main"])
        await session.agent.waitUntilIdle()
    }

    @Test @MainActor func anOwnerThatIsGoneIsNotCalled() async throws {
        let stage = StagedTransport(unanswered: .wait)
        let session = Session(configuration: .init(customTransport: stage, agent: RequestAgent()))
        let heard = Trace()
        do {
            let owner = Plain()
            session.request("http://h/").onSuccess(for: owner) { _, _ in heard.add("owner") }.onSuccess { _ in heard.add("free") }.start()
        }
        await stage.waitForStarts(1)
        stage.succeed(stage.started[0])
        await session.agent.waitUntilIdle()
        #expect(heard.lines == ["free"])
    }
}

extension DispatchQueue {
    private static let key: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    fileprivate static var isMain: Bool { getSpecific(key: key) != nil }
}
