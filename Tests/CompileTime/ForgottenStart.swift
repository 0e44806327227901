// A request that is made ready and not started. Each warning stands beside its cause.

import FoundationEssentials
import ScopedNet

final class SilentDelegate: RequestDelegate, Sendable {}

@MainActor final class ForgetfulOwner: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    var values: [Data] = []

    func forgets(_ session: Session) {
        session.get("a").onSuccess(for: self) { owner, data in owner.values.append(data) }  // warning: is unused
        session.get("a").onFailure { _ in }  // warning: is unused
        session.get("a").onEnd(for: self) { owner, _ in owner.values = [] }  // warning: is unused
        session.get("a").onResult { _ in }  // warning: is unused
        session.get("a").bound(to: self).onSuccess { owner, data in owner.values.append(data) }  // warning: is unused
        session.get("a").decideRedirect { _ in .follow }  // warning: is unused
        session.get("a").delegate(sendable: SilentDelegate())  // warning: is unused
        session.get("a").timeout(.seconds(5)).retry(.standard)  // warning: is unused
        session.get("a").options { $0.priority = .high }  // warning: is unused
        session.get("a").header("X-Key", "v")  // warning: is unused
        session.get("a")  // warning: is unused
    }

    func starts(_ session: Session) {
        session.get("a").onSuccess(for: self) { owner, data in owner.values.append(data) }.start(for: self)
        session.get("a").bound(to: self).onEnd { owner, _ in owner.values = [] }.start()
        session.get("a").start(for: self) { owner, result in owner.values = (try? [result.get()]) ?? [] }
        session.get("a").start(in: deallocBag)
        _ = session.get("a").onSuccess { _ in }
    }
}
