import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import ScopedNet

/// G6: closures are destroyed once they fire, before `onEnd`, on every path.
@Suite(.leavesNothing) struct G06ClearedTests {
    enum Path: CaseIterable { case success, failure, cancel, bag, refusedByEndedBag, refusedByRepeat, malformed }

    // THR-5, YB-7, defect 52
    @Test(arguments: Path.allCases)
    func afterTheEndNothingCapturedIsAlive(path: Path) async throws {
        try await withStage { session, stage in
            weak var weakProbe: Canary?
            let aliveInEnd = Lock<Bool?>(nil)
            let watch = Lock<@Sendable () -> Bool>({ false })
            var bag: DeallocBag? = DeallocBag()
            let request: Request<Data>
            do {
                let probe = Canary()
                weakProbe = probe
                let reference = WeakReference(probe)
                watch.withLock { $0 = { reference.object != nil } }
                request = session.request(path == .malformed ? "::" : "http://h/")
                    .onSuccess { _ in _ = probe }
                    .onFailure { _ in _ = probe }
                    .onDownloadProgress { _ in _ = probe }
                    .onEnd { _ in
                        let isAlive = watch.withLock { $0 }()
                        aliveInEnd.withLock { $0 = isAlive }
                    }
            }
            #expect(weakProbe != nil)
            switch path {
            case .refusedByEndedBag:
                bag?.end()
                request.start(in: bag!)
            case .refusedByRepeat:
                _ = request.options { $0.repeats = .keepRunning }
                request.start()
                await stage.waitForStarts(1)
                do {
                    let probe = Canary()
                    weakProbe = probe
                    _ = request.onSuccess { _ in _ = probe }
                }
                #expect(request.start().wasRefused)
                #expect(weakProbe == nil)
                stage.succeed(stage.started[0])
            default:
                let run = request.start(in: bag!)
                if path != .malformed { await stage.waitForStarts(1) }
                switch path {
                case .success: stage.succeed(stage.started[0])
                case .failure: stage.fail(stage.started[0])
                case .cancel:
                    #expect(run.cancel() == .cancelled)
                    #expect(weakProbe == nil, "destroyed before cancel() returned")
                case .bag: bag = nil
                default: break
                }
            }
            await session.agent.waitUntilIdle()
            #expect(weakProbe == nil)
            #expect(aliveInEnd.withLock { $0 } == false, "destroyed before onEnd")
        }
    }

    // S0-2
    @Test func aCapturedOwnerMakesNoLastingCycle() async throws {
        final class Model: @unchecked Sendable {
            var request: Request<Data>?
            var body: Data?
        }
        try await withStage { session, stage in
            weak var weakModel: Model?
            do {
                let model = Model()
                weakModel = model
                model.request = session.request("http://h/").onSuccess { model.body = $0 }
                model.request?.start()
            }
            #expect(weakModel != nil)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
            await session.agent.waitUntilIdle()
            #expect(weakModel == nil)
        }
    }

    // YB-6
    @Test func theDelegateIsHeldWeakly() async throws {
        final class Delegate: RequestDelegate, Sendable {}
        try await withStage { session, stage in
            weak var weakDelegate: Delegate?
            let request = session.request("http://h/")
            do {
                let delegate = Delegate()
                weakDelegate = delegate
                _ = request.delegate(sendable: delegate)
                request.start()
            }
            #expect(weakDelegate == nil)
            await stage.waitForStarts(1)
            stage.succeed(stage.started[0])
        }
    }
}
