// A class that is neither Sendable nor on an actor must not be handed to the delivery queue. Each error stands beside its cause.

import FoundationEssentials
import ScopedNet

final class PlainOwner: RequestOwner, RequestDelegate {
    let deallocBag = DeallocBag()
    var values: [Data] = []

    func register(_ request: Request<Data>) {
        request.onSuccess(for: self) { owner, data in owner.values.append(data) }  // error: nonisolated context
        request.onCached(for: self) { owner, data in owner.values.append(data) }  // error: nonisolated context
        request.onResponse(for: self) { owner, response in owner.values.append(response.value) }  // error: nonisolated context
        request.onFailure(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.onEnd(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.onUploadProgress(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.onDownloadProgress(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.onResponseHead(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.decideRedirect(for: self) { owner, _ in  // error: nonisolated context
            owner.values = []; return .follow
        }
        request.provideBody(for: self) { owner, _ in  // error: nonisolated context
            owner.values = []; return nil
        }
        request.decideDisposition(for: self) { owner, _ in  // error: nonisolated context
            owner.values = []; return .allow
        }
        request.chooseDestination(for: self) { owner, _ in  // error: nonisolated context
            owner.values = []; return URL(filePath: "/tmp/")
        }
        request.start(for: self, onSuccess: { owner, data in owner.values.append(data) })  // error: nonisolated context
        request.start(for: self, onFailure: { owner, _ in owner.values = [] })  // error: nonisolated context
        request.start(for: self, onEnd: { owner, _ in owner.values = [] })  // error: nonisolated context
        request.delegate(self)  // error: nonisolated context
        request.delegate(sendable: self)  // error: does not conform to the 'Sendable' protocol
        _ = Authentication.handler(for: self) { _, _ in .performDefault }  // error: does not conform to the 'Sendable' protocol
    }

    func registerInTask(_ request: Request<Data>) async {
        request.onSuccess(for: self) { owner, data in owner.values.append(data) }  // error: outside of the actor
    }

    func registerBound(_ request: Request<Data>) {
        let bound = request.bound(to: self)
        _ = bound.onSuccess { owner, data in owner.values.append(data) }  // error: nonisolated context
        _ = bound.onCached { owner, data in owner.values.append(data) }  // error: nonisolated context
        _ = bound.onResponse { owner, response in owner.values.append(response.value) }  // error: nonisolated context
        _ = bound.onFailure { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = bound.onResult { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = bound.onEnd { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = bound.onUploadProgress { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = bound.onDownloadProgress { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = bound.onResponseHead { owner, _ in owner.values = [] }  // error: nonisolated context
        _ = request.onResult(for: self) { owner, _ in owner.values = [] }  // error: nonisolated context
        request.start(for: self, onResult: { owner, _ in owner.values = [] })  // error: nonisolated context
        deallocBag.task(for: self, { 1 }, onSuccess: { owner, _ in owner.values = [] })  // error: nonisolated context
    }

    func registerBoundInTask(_ request: Request<Data>) async {
        _ = request.bound(to: self).onResult { owner, _ in owner.values = [] }  // error: outside of the actor
        request.start(for: self, onResult: { owner, _ in owner.values = [] })  // error: outside of the actor
        deallocBag.task(for: self, { 1 }, onSuccess: { owner, _ in owner.values = [] })  // error: outside of the actor
    }
}

/// An owner on the main actor, in code that runs nowhere in particular.
@MainActor final class MainActorOwner: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    var values: [Data] = []

    nonisolated func registerBoundFromElsewhere(_ request: Request<Data>) {
        _ = request.bound(to: self).onSuccess { owner, data in owner.values.append(data) }  // error: from a Sendable closure
        _ = request.bound(to: self).onResult { owner, _ in owner.values = [] }  // error: from a Sendable closure
        _ = request.onResult(for: self) { owner, _ in owner.values = [] }  // error: from a Sendable closure
        request.start(for: self, onResult: { owner, _ in owner.values = [] })  // error: from a Sendable closure
    }
}

@globalActor actor OtherActor { static let shared = OtherActor() }

@MainActor func bindsOnAnotherActor(_ owner: PlainOwner, _ request: Request<Data>) {
    _ = request.bound(to: owner).onSuccess { @OtherActor owner, data in owner.values.append(data) }  // error: 'Sendable'
    _ = request.onResult(for: owner) { @OtherActor owner, _ in owner.values = [] }  // error: 'Sendable'
    request.start(for: owner, onResult: { @OtherActor owner, _ in owner.values = [] })  // error: 'Sendable'
}

@MainActor func handsToAnotherActor(_ owner: PlainOwner, _ request: Request<Data>) {
    request.onSuccess(for: owner) { @OtherActor owner, data in owner.values.append(data) }  // error: 'Sendable'
    request.decideRedirect(for: owner) { @OtherActor owner, _ in  // error: 'Sendable'
        owner.values = []; return .follow
    }
}

@MainActor final class MainActorDelegate: @MainActor RequestDelegate {
    nonisolated func register(_ request: Request<Data>) { request.delegate(sendable: self) }  // error: nonisolated context
}
