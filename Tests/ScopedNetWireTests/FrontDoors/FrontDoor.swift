import Foundation

@testable import ScopedNet

/// The three ways to start a request and to hear of it.
enum FrontDoor: CaseIterable, Sendable {
    case closures, delegate, awaiting
}

/// How a run ended, in words all doors have.
enum DoorOutcome: Equatable, Sendable {
    case success(String)
    case failure(NetworkError.Code)
    case cancelled(CancelReason)
}

/// What a door said.
struct DoorReport: Sendable {
    var outcome: DoorOutcome?
    /// Every call in order: "head 200", "received 5/10", "success", "failure", "end".
    var calls: [String]
}

/// What a test does to a run that is under way.
struct DoorHandle: Sendable {
    /// Cancels as one does at this door: the run, or the task that awaits it.
    let cancel: @Sendable () -> Void
}

extension FrontDoor {
    /// Why a run is cancelled by ``DoorHandle/cancel``.
    var ownReason: CancelReason { self == .awaiting ? .taskCancelled : .explicit }

    /// Starts a request through this door, lets the test act, and waits until no user code is pending.
    func send<Value: Sendable>(
        _ request: Request<Value>, in bag: DeallocBag? = nil, during act: (DoorHandle) async throws -> Void = { _ in }
    ) async throws -> DoorReport {
        switch self {
        case .closures: try await sendWithClosures(request, bag, act)
        case .delegate: try await sendWithDelegate(request, bag, act)
        case .awaiting: try await sendAwaiting(request, bag, act)
        }
    }

    private func sendWithClosures<Value: Sendable>(
        _ request: Request<Value>, _ bag: DeallocBag?, _ act: (DoorHandle) async throws -> Void
    ) async throws -> DoorReport {
        let calls = Trace()
        let outcome = Gathered<DoorOutcome>()
        _ = request.onResponseHead { calls.add("head \($0.status)") }
            .onDownloadProgress { calls.add("received \($0.completed)/\($0.total ?? -1)") }
            .onSuccess { value in
                calls.add("success")
                outcome.add(.success(text(of: value)))
            }
            .onFailure { error in
                calls.add("failure")
                outcome.add(.failure(error.code))
            }
            .onEnd { reason in
                calls.add("end")
                if case .cancelled(let reason) = reason { outcome.add(.cancelled(reason)) }
            }
        let run = start(request, bag)
        try await act(DoorHandle { run.cancel() })
        await request.session.agent.waitUntilIdle()
        return report(outcome.all, calls)
    }

    private func sendWithDelegate<Value: Sendable>(
        _ request: Request<Value>, _ bag: DeallocBag?, _ act: (DoorHandle) async throws -> Void
    ) async throws -> DoorReport {
        let delegate = DoorDelegate()
        _ = request.delegate(sendable: delegate)
        let run = start(request, bag)
        try await act(DoorHandle { run.cancel() })
        await request.session.agent.waitUntilIdle()
        // A delegate hears nothing of a cancellation; the run says it to whoever asks.
        let cancelled = run.status.cancelReason.map { [DoorOutcome.cancelled($0)] } ?? []
        return report(delegate.outcome.all + cancelled, delegate.calls)
    }

    private func sendAwaiting<Value: Sendable>(
        _ request: Request<Value>, _ bag: DeallocBag?, _ act: (DoorHandle) async throws -> Void
    ) async throws -> DoorReport {
        let calls = Trace()
        let outcome = Gathered<DoorOutcome>()
        let task = Task {
            do throws(NetworkError) {
                outcome.add(.success(text(of: try await request.value(in: bag))))
            } catch {
                outcome.add(error.cancelReason.map { .cancelled($0) } ?? .failure(error.code))
            }
            calls.add("end")
        }
        try await act(DoorHandle { task.cancel() })
        await task.value
        await request.session.agent.waitUntilIdle()
        return report(outcome.all, calls)
    }

    private func start<Value: Sendable>(_ request: Request<Value>, _ bag: DeallocBag?) -> Run {
        bag.map { request.start(in: $0) } ?? request.start()
    }

    /// Two outcomes are none.
    private func report(_ outcomes: [DoorOutcome], _ calls: Trace) -> DoorReport {
        DoorReport(outcome: outcomes.count == 1 ? outcomes[0] : nil, calls: calls.lines)
    }
}

private func text(of value: some Sendable) -> String { (value as? Data).map { String(decoding: $0, as: UTF8.self) } ?? "\(value)" }

private final class DoorDelegate: RequestDelegate, Sendable {
    let calls = Trace()
    let outcome = Gathered<DoorOutcome>()

    func request(_ run: Run.Info, didReceiveHead head: ResponseHead) { calls.add("head \(head.status)") }

    func request(_ run: Run.Info, didReceive progress: TransferProgress) {
        calls.add("received \(progress.completed)/\(progress.total ?? -1)")
    }

    func request(_ run: Run.Info, didSucceedWith value: any Sendable, response: ResponseHead) {
        calls.add("success")
        outcome.add(.success(text(of: value)))
    }

    func request(_ run: Run.Info, didFailWith error: NetworkError) {
        calls.add("failure")
        outcome.add(.failure(error.code))
    }

    func requestDidEnd(_ run: Run.Info) { calls.add("end") }
}
