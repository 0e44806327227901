// Code that must compile in language mode 6. `Scripts/compile-time` compiles it against the built modules.

import FoundationEssentials
import ScopedNet

/// An owner on the main actor.
@MainActor final class MainActorOwner: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    var values: [Data] = []

    func registerAll(_ request: Request<Data>) {
        request.onSuccess(for: self) { owner, data in owner.values.append(data) }
            .onCached(for: self) { owner, data in owner.values.append(data) }
            .onResponse(for: self) { owner, response in owner.values.append(response.value) }
            .onFailure(for: self) { owner, _ in owner.values = [] }
            .onEnd(for: self) { owner, _ in owner.values = [] }
            .onUploadProgress(for: self) { owner, _ in owner.values = [] }
            .onDownloadProgress(for: self) { owner, _ in owner.values = [] }
            .onResponseHead(for: self) { owner, _ in owner.values = [] }
            .decideRedirect(for: self) { owner, _ in
                owner.values = []; return .follow
            }
            .provideBody(for: self) { owner, _ in
                owner.values = []; return nil
            }
            .decideDisposition(for: self) { owner, _ in
                owner.values = []; return .allow
            }
            .chooseDestination(for: self) { owner, _ in
                owner.values = []; return URL(filePath: "/tmp/")
            }
            .onSuccess(for: self) { $0.values.append($1) }
            .start(for: self)
        request.start(for: self, onSuccess: { owner, data in owner.values.append(data) })
        request.start(for: self) { owner, data in
            owner.values.append(data)
        } onFailure: { owner, _ in
            owner.values = []
        } onEnd: { owner, _ in
            owner.values = []
        }
        deallocBag.task { [weak self] in self?.values = [] }
    }

    nonisolated func registerFromElsewhere(_ request: Request<Data>) {
        request.onSuccess(for: self) { @MainActor owner, data in owner.values.append(data) }.start(for: self)
    }
}

/// An owner that is an actor.
actor ActorOwner: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    var values: [Data] = []
    let part = PlainOwner()

    func register(_ request: Request<Data>) {
        request.onSuccess(for: self) { owner, data in owner.values.append(data) }
            .onEnd(for: self) { owner, _ in owner.values = [] }
            .decideRedirect(for: self) { owner, _ in
                owner.values = []; return .follow
            }
            .onSuccess(for: part) { part, data in part.values.append(data) }
            .decideRedirect(for: part) { part, _ in
                part.values = []; return .follow
            }
            .start(for: self)
    }
}

/// An owner that any thread may use.
final class SendableOwner: RequestOwner, Sendable {
    let deallocBag = DeallocBag()

    func take(_ data: Data) {}

    func register(_ request: Request<Data>) {
        request.onSuccess(for: self) { owner, data in owner.take(data) }
            .decideRedirect(for: self) { owner, _ in
                owner.take(Data()); return .follow
            }
            .start(for: self, onSuccess: { owner, data in owner.take(data) }, onEnd: { owner, _ in owner.take(Data()) })
        deallocBag.task { [weak self] in self?.take(Data()) }
    }
}

/// An owner that is tied to whatever uses it.
final class PlainOwner: RequestOwner {
    let deallocBag = DeallocBag()
    var values: [Data] = []

    func start(_ request: Request<Data>) { request.start(for: self) }
}

@MainActor func usesPlainOwner(_ owner: PlainOwner, _ request: Request<Data>) {
    request.onSuccess(for: owner) { owner, data in owner.values.append(data) }
        .onResponse(for: owner) { owner, response in owner.values.append(response.value) }
        .decideRedirect(for: owner) { owner, _ in
            await Task.yield()
            owner.values = []
            return .follow
        }
        .start(for: owner, onSuccess: { owner, data in owner.values.append(data) })
    owner.values = []
}

func usesPlainOwner(_ owner: PlainOwner, _ request: Request<Data>, on actor: isolated any Actor) {
    request.onSuccess(for: owner) { owner, data in owner.values.append(data) }.start(for: owner)
}

@MainActor final class MainActorDelegate: @MainActor RequestDelegate {
    func register(_ request: Request<Data>) { request.delegate(self) }
}

final class SendableDelegate: RequestDelegate, Sendable {
    func register(_ request: Request<Data>) { request.delegate(sendable: self) }
}
