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
}

@globalActor actor OtherActor { static let shared = OtherActor() }

@MainActor func handsToAnotherActor(_ owner: PlainOwner, _ request: Request<Data>) {
    request.onSuccess(for: owner) { @OtherActor owner, data in owner.values.append(data) }  // error: 'Sendable'
    request.decideRedirect(for: owner) { @OtherActor owner, _ in  // error: 'Sendable'
        owner.values = []; return .follow
    }
}

@MainActor final class MainActorDelegate: @MainActor RequestDelegate {
    nonisolated func register(_ request: Request<Data>) { request.delegate(sendable: self) }  // error: nonisolated context
}
