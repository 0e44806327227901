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

    var isLoading = false

    func registerBound(_ request: Request<Data>) {
        request.bound(to: self)
            .onSuccess { owner, data in owner.values.append(data) }
            .onCached { owner, data in owner.values.append(data) }
            .onResponse { owner, response in owner.values.append(response.value) }
            .onFailure { owner, _ in owner.values = [] }
            .onEnd { owner, _ in owner.values = [] }
            .start()
        request.bound(to: self)
            .onResult { owner, _ in owner.values = [] }
            .onUploadProgress { owner, _ in owner.values = [] }
            .onDownloadProgress { owner, _ in owner.values = [] }
            .onResponseHead { owner, _ in owner.values = [] }
            .onSuccess { $0.values.append($1) }
            .start()
        request.bound(to: self).onResult { owner, _ in owner.values = [] }.start(in: deallocBag)
        request.onResult(for: self) { owner, result in owner.values = (try? [result.get()]) ?? [] }
            .onResult { [weak self] _ in self?.values = [] }
            .start(for: self)
        request.start(for: self) { owner, result in owner.values = (try? [result.get()]) ?? [] }
        request.start(for: self) { owner, result in
            switch result {
            case .success(let data): owner.values.append(data)
            case .failure: owner.values = []
            }
        }
    }

    /// More closures than there are kinds: the compiler takes time for each, and not for each with each.
    func registerTwelve(_ request: Request<Data>) {
        request.bound(to: self)
            .onUploadProgress { owner, _ in owner.values = [] }
            .onDownloadProgress { owner, _ in owner.values = [] }
            .onResponseHead { owner, _ in owner.values = [] }
            .onCached { owner, data in owner.values.append(data) }
            .onSuccess { owner, data in owner.values.append(data) }
            .onResponse { owner, response in owner.values.append(response.value) }
            .onFailure { owner, _ in owner.values = [] }
            .onResult { owner, _ in owner.values = [] }
            .onEnd { owner, _ in owner.values = [] }
            .onSuccess { owner, data in owner.values.append(data) }
            .onFailure { owner, _ in owner.values = [] }
            .onEnd { owner, _ in owner.values = [] }
            .start()
    }

    /// Steps and closures run here, and what they capture may belong here.
    func takesSteps(_ request: Request<Data>) {
        let part = PlainOwner()
        deallocBag.task(for: self, isRunning: \.isLoading) {
            part.values.append(try await request.value())
            return part
        } onSuccess: { owner, part in
            owner.values += part.values
        } onFailure: { owner, _ in
            owner.values = part.values
        }
        deallocBag.task(for: part) { [session = request.session] in
            try await session.values(of: request, session.get("a", as: Int.self))
        } onSuccess: { part, values in
            part.values.append(values.0)
        }
        deallocBag.task(for: self) {
        } onSuccess: { owner, _ in
            owner.values = []
        }
    }

    nonisolated func registerBoundFromElsewhere(_ request: Request<Data>) {
        request.bound(to: self)
            .onSuccess { @MainActor owner, data in owner.values.append(data) }
            .onResult { @MainActor owner, _ in owner.values = [] }
            .start()
        request.onResult(for: self) { @MainActor owner, _ in owner.values = [] }.start(for: self)
        request.start(for: self) { @MainActor owner, result in owner.values = (try? [result.get()]) ?? [] }
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

    func registerBound(_ request: Request<Data>) {
        request.bound(to: self)
            .onSuccess { owner, data in owner.values.append(data) }
            .onResult { owner, result in owner.values = (try? [result.get()]) ?? [] }
            .onEnd { owner, _ in owner.values = [] }
            .start()
        request.bound(to: part).onSuccess { part, data in part.values.append(data) }.start()
        request.onResult(for: self) { owner, _ in owner.values = [] }.start(for: self)
        request.start(for: self) { owner, result in owner.values = (try? [result.get()]) ?? [] }
        deallocBag.task(for: part) {
            try await request.value()
        } onSuccess: { part, data in
            part.values.append(data)
        }
    }

    nonisolated func registerBoundFromElsewhere(_ request: Request<Data>) {
        request.bound(to: self).onResult { owner, result in owner.values = (try? [result.get()]) ?? [] }.start()
        request.start(for: self) { owner, result in owner.values = (try? [result.get()]) ?? [] }
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

    func registerBound(_ request: Request<Data>) {
        request.bound(to: self)
            .onSuccess { owner, data in owner.take(data) }
            .onResult { owner, _ in owner.take(Data()) }
            .onEnd { owner, _ in owner.take(Data()) }
            .start()
        request.onResult(for: self) { owner, _ in owner.take(Data()) }.start(for: self)
        request.start(for: self) { owner, result in owner.take((try? result.get()) ?? Data()) }
    }

    /// On an actor, whichever that is.
    func takesSteps(_ request: Request<Data>, on actor: isolated any Actor) {
        deallocBag.task(for: self) {
            try await request.value()
        } onSuccess: { owner, data in
            owner.take(data)
        }
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

@MainActor func bindsPlainOwner(_ owner: PlainOwner, _ request: Request<Data>) {
    request.bound(to: owner)
        .onSuccess { owner, data in owner.values.append(data) }
        .onResult { owner, result in owner.values = (try? [result.get()]) ?? [] }
        .onFailure { owner, _ in owner.values = [] }
        .onEnd { owner, _ in owner.values = [] }
        .start()
    request.onResult(for: owner) { owner, _ in owner.values = [] }.start(for: owner)
    request.start(for: owner) { owner, result in owner.values = (try? [result.get()]) ?? [] }
    owner.deallocBag.task(for: owner) {
        owner.values.append(try await request.value())
    } onSuccess: { owner, _ in
        owner.values = []
    }
    owner.values = []
}

func bindsPlainOwner(_ owner: PlainOwner, _ request: Request<Data>, on actor: isolated any Actor) {
    request.bound(to: owner).onResult { owner, _ in owner.values = [] }.start()
    request.start(for: owner) { owner, result in owner.values = (try? [result.get()]) ?? [] }
    owner.deallocBag.task(for: owner) {
        try await request.value()
    } onSuccess: { owner, data in
        owner.values.append(data)
    }
}

@MainActor final class MainActorDelegate: @MainActor RequestDelegate {
    func register(_ request: Request<Data>) { request.delegate(self) }
}

final class SendableDelegate: RequestDelegate, Sendable {
    func register(_ request: Request<Data>) { request.delegate(sendable: self) }
}
