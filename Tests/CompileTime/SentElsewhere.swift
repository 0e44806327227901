// What the flow of values shows: an owner that belongs to an actor from here on, and a bag's task that takes one along.

import FoundationEssentials
import ScopedNet

final class PlainOwner: RequestDelegate {
    let bag = DeallocBag()
    var count = 0

    func takesItselfAlong() {
        bag.task { self.count += 1 }  // error: risks causing data races
    }
}

@MainActor func sendsAnOwner(_ request: Request<Data>) {
    let owner = PlainOwner()
    request.onSuccess(for: owner) { owner, _ in owner.count += 1 }
    Task.detached { owner.count += 1 }  // error: risks causing data races
}

@MainActor func sendsAnOwnerOfAHook(_ request: Request<Data>) {
    let owner = PlainOwner()
    request.decideRedirect(for: owner) { owner, _ in
        owner.count += 1; return .follow
    }
    Task.detached { owner.count += 1 }  // error: risks causing data races
}

@MainActor func sendsABoundOwner(_ request: Request<Data>) {
    let owner = PlainOwner()
    _ = request.bound(to: owner).onResult { owner, _ in owner.count += 1 }
    Task.detached { owner.count += 1 }  // error: risks causing data races
}

@MainActor func sendsAnOwnerOfSteps(_ bag: DeallocBag) {
    let owner = PlainOwner()
    bag.task(for: owner, { 1 }, onSuccess: { owner, number in owner.count += number })
    Task.detached { owner.count += 1 }  // error: risks causing data races
}

@MainActor func sendsADelegate(_ request: Request<Data>) {
    let delegate = PlainOwner()
    request.delegate(delegate)
    Task.detached { delegate.count += 1 }  // error: risks causing data races
}

func usesWhatATaskUses(_ bag: DeallocBag) {
    let owner = PlainOwner()
    bag.task { owner.count += 1 }  // error: risks causing data races
    owner.count += 1
}
