#if canImport(ScopedNet)
@testable import ScopedNet
#endif

extension Scenario {
    /// Small ones first: a violation is shown by the smallest scenario that has it.
    static func ordered(withLarge: Bool) -> [Scenario] { all.filter { !$0.isLarge } + (withLarge ? all.filter(\.isLarge) : []) }

    /// What is explored: each is small enough to be looked at completely, together they cover every pair of things that can meet.
    static let all: [Scenario] = [
        Scenario("plain: progress, completion", [.starter0, .lane, .network]) { $0.hasProgress = true },
        Scenario("bag: insert, completion", [.starter0, .lane, .network]) { $0.usesBag = true },
        Scenario("bag: progress, end", [.starter0, .endBag, .lane, .network]) {
            $0.usesBag = true
            $0.hasProgress = true
            $0.isPlaced = true
        },
        Scenario(
            "bag: progress, ended in the background, cancel", [.starter0, .endBagDeferred, .background, .cancel, .lane, .network],
            isLarge: true
        ) {
            $0.usesBag = true
            $0.hasProgress = true
            $0.hasOnEnd = false
            $0.isPlaced = true
        },
        Scenario("detached: progress, handle dropped, cancel", [.starter0, .dropHandle, .cancel, .lane, .network], isLarge: true) {
            $0.release = .detached
            $0.hasProgress = true
            $0.isPlaced = true
        },
        Scenario("detached: handle dropped, end of the bag", [.starter0, .dropHandle, .endBag, .lane, .network]) {
            $0.release = .detached
            $0.usesBag = true
            $0.isPlaced = true
        },
        Scenario("plain: two cancels, completion", [.starter0, .cancel, .cancelAgain, .lane, .network]),
        Scenario("bag: insert, end, cancel, completion", [.starter0, .endBag, .cancel, .lane, .network]) { $0.usesBag = true },
        Scenario("bag that lives on: insert, two cancels", [.starter0, .cancel, .cancelAgain, .lane, .network]) { $0.usesBag = true },
        Scenario("bag: ended in the background", [.starter0, .endBagDeferred, .background, .cancel, .lane, .network]) { $0.usesBag = true },
        Scenario("bag: cancelAll and end", [.starter0, .cancelAllInBag, .endBag, .lane, .network]) { $0.usesBag = true },
        Scenario("bag: progress, end, cancel", [.starter0, .endBag, .cancel, .lane, .network], isLarge: true) {
            $0.usesBag = true
            $0.hasProgress = true
        },
        Scenario("bag: progress, ended in the background", [.starter0, .endBagDeferred, .background, .lane, .network]) {
            $0.usesBag = true
            $0.hasProgress = true
        },
        Scenario("child: end of the parent", [.starter0, .endParent, .lane, .network]) {
            $0.usesBag = true
            $0.isChild = true
        },
        Scenario("child: end of the parent, cancel", [.starter0, .endParent, .cancel, .lane, .network]) {
            $0.usesBag = true
            $0.isChild = true
        },
        Scenario("child: parent and child end", [.starter0, .endParent, .endBag, .lane, .network]) {
            $0.usesBag = true
            $0.isChild = true
        },
        Scenario("second bag: join, completion", [.starter0, .join, .lane, .network]),
        Scenario("second bag: join, cancel", [.starter0, .join, .cancel, .lane, .network]),
        Scenario("second bag: join, end of the first, cancel", [.starter0, .join, .endBag, .cancel, .lane, .network], isLarge: true) {
            $0.usesBag = true
        },
        Scenario("second bag: join, its end", [.starter0, .join, .endBag, .lane, .network], isLarge: true) {
            $0.isChild = true
            $0.hasProgress = true
        },
        Scenario("progress: cancels inside the calls", [.starter0, .cancel, .lane, .network]) {
            $0.hasProgress = true
            $0.cancelsInCall = true
        },
        Scenario("two closures: progress, completion", [.starter0, .lane, .network]) {
            $0.closures = 2
            $0.hasProgress = true
        },
        Scenario("two closures: two cancels", [.starter0, .cancel, .cancelAgain, .lane, .network]) { $0.closures = 2 },
        Scenario("two closures: end of the bag, cancel", [.starter0, .endBag, .cancel, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
            $0.isPlaced = true
        },
        Scenario("two closures: cancelAll and end", [.starter0, .cancelAllInBag, .endBag, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
            $0.isPlaced = true
        },
        Scenario("two closures: insert, cancelAll", [.starter0, .cancelAllInBag, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
        },
        Scenario("two closures: insert, end of the bag", [.starter0, .endBag, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
        },
        Scenario("two closures: end of the parent", [.starter0, .endParent, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
            $0.isChild = true
        },
        Scenario("two closures: progress, cancel", [.starter0, .cancel, .lane, .network]) {
            $0.closures = 2
            $0.hasProgress = true
        },
        Scenario("two closures: progress, cancels inside the calls", [.starter0, .cancel, .lane, .network]) {
            $0.closures = 2
            $0.hasProgress = true
            $0.cancelsInCall = true
        },
        Scenario("two closures: progress, end of the bag", [.starter0, .endBag, .lane, .network]) {
            $0.closures = 2
            $0.usesBag = true
            $0.hasProgress = true
            $0.isPlaced = true
        },
        Scenario("two closures: second bag: join, its cancelAll", [.starter0, .join, .cancelAllInBag, .lane, .network]) {
            $0.closures = 2
            $0.isChild = true
        },
        Scenario(
            "two closures: progress, ended in the background, cancel", [.starter0, .endBagDeferred, .background, .cancel, .lane, .network],
            isLarge: true
        ) {
            $0.closures = 2
            $0.usesBag = true
            $0.hasProgress = true
            $0.hasOnEnd = false
            $0.isPlaced = true
        },
        Scenario("two closures: detached, end of the bag, cancel", [.starter0, .endBag, .cancel, .lane, .network], isLarge: true) {
            $0.closures = 2
            $0.release = .detached
            $0.usesBag = true
            $0.hasProgress = true
        },
        Scenario("retry after a wait, cancel", [.starter0, .cancel, .lane, .network, .timer]) { $0.script = [.retryLater, .ok, .ok, .ok] },
        Scenario("retry after two waits, cancels", [.starter0, .cancel, .endBag, .lane, .network, .timer], isLarge: true) {
            $0.script = [.retryLater, .retryLater, .ok, .ok]
            $0.usesBag = true
        },
        Scenario("retry at once, then redirect, cancel", [.starter0, .cancel, .cancelAgain, .lane, .network]) {
            $0.script = [.retryNow, .redirect, .ok, .ok]
        },
        Scenario("a wait with two ends, cancel", [.starter0, .cancel, .lane, .network, .timer, .path]) {
            $0.script = [.retryLater, .ok, .ok, .ok]
            $0.hasPath = true
        },
        Scenario("two waits with two ends each", [.starter0, .lane, .network, .timer, .path]) {
            $0.script = [.retryLater, .retryLater, .ok, .ok]
            $0.hasPath = true
        },
        Scenario("download: target, path, part, cancel", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.claimsTarget = true
            $0.waitsForPath = true
        },
        Scenario(
            "download: target and part, suspend, end of the bag", [.starter0, .suspender, .endBag, .lane, .network, .timer], isLarge: true
        ) {
            $0.claimsTarget = true
            $0.usesBag = true
        },
        Scenario("a stored response is read, cancel", [.starter0, .cancel, .cancelAgain, .lane, .timer]) { $0.cache = .stored },
        Scenario("a stored response is read", [.starter0, .lane, .timer]) { $0.cache = .stored },
        Scenario("download: target, path, part", [.starter0, .lane, .network, .timer]) {
            $0.claimsTarget = true
            $0.waitsForPath = true
        },
        Scenario("a stored response is lost, cancel", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.cache = .lost
            $0.script = [.useless, .notModified, .ok, .ok]
        },
        Scenario("a stored response first, cancel", [.starter0, .cancel, .lane, .network, .worker]) { $0.cache = .first },
        Scenario("another run's answer, cancel", [.starter0, .cancel, .lane, .timer]) { $0.cache = .shared },
        Scenario("another run's answer is late", [.starter0, .cancel, .lane, .timer, .worker]) {
            $0.cache = .shared
            $0.expires = true
        },
        Scenario("no path, and a stored response", [.starter0, .cancel, .lane, .timer, .worker]) {
            $0.cache = .missed
            $0.waitsForPath = true
            $0.expires = true
        },
        Scenario("download: the part does not fit", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.claimsTarget = true
            $0.script = [.misfit, .ok, .ok, .ok]
        },
        Scenario("challenge, redirect, retry, refusal", [.starter0, .lane, .network, .timer]) {
            $0.script = [.challenge, .redirect, .retryLater, .refused]
        },
        Scenario("challenge, redirect, retry, another type, cancel", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.script = [.challenge, .redirect, .retryNow, .otherType]
        },
        Scenario("interceptors of call and exchange, cancel", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.intercepts = true
            $0.script = [.intercepted, .ok, .ok, .ok]
        },
        Scenario("a refresh fails, cancel", [.starter0, .cancel, .lane, .network]) {
            $0.isRefresh = true
            $0.script = [.retryNow, .failure, .ok, .ok]
        },
        Scenario("an error, and a stored response in its place, cancel", [.starter0, .cancel, .lane, .network, .timer]) {
            $0.script = [.retryNow, .stale, .ok, .ok]
        },
        Scenario("decode stage, end of the bag, cancel", [.starter0, .cancel, .endBag, .lane, .network, .worker]) {
            $0.script = [.okDecoded, .ok, .ok, .ok]
            $0.usesBag = true
        },
        Scenario("decode stage, suspend and resume", [.starter0, .suspender, .lane, .network, .worker]) {
            $0.script = [.okDecoded, .ok, .ok, .ok]
        },
        Scenario("queue: place, grant, cancel", [.starter0, .cancel, .cancelAgain, .lane, .network, .otherRequest]) { $0.hasQueue = true },
        Scenario("queue: timeout, grant, cancel", [.starter0, .cancel, .lane, .network, .otherRequest, .timer]) {
            $0.hasQueue = true
            $0.hasQueueTimeout = true
        },
        Scenario("queue: timeout, retry wait", [.starter0, .lane, .network, .otherRequest, .timer]) {
            $0.hasQueue = true
            $0.hasQueueTimeout = true
            $0.script = [.retryLater, .ok, .ok, .ok]
        },
        Scenario("queue: timeout, retry wait, cancel", [.starter0, .cancel, .lane, .network, .otherRequest, .timer], isLarge: true) {
            $0.hasQueue = true
            $0.hasQueueTimeout = true
            $0.script = [.retryLater, .ok, .ok, .ok]
        },
        Scenario("queue: full; a refused preparation", [.starter0, .cancel, .lane, .network, .otherRequest]) {
            $0.hasQueue = true
            $0.isQueueFull = true
        },
        Scenario("not prepared, cancel, end of the bag", [.starter0, .cancel, .endBag, .lane]) {
            $0.failsPreparation = true
            $0.usesBag = true
        },
        Scenario("suspend and resume twice", [.starter0, .suspender, .suspender, .lane, .network]) { $0.suspensions = 1 },
        Scenario("suspend and resume, redirect, cancel", [.starter0, .suspender, .cancel, .lane, .network], isLarge: true) {
            $0.script = [.redirect, .ok, .ok, .ok]
        },
        Scenario("suspend in the queue, park, cancel", [.starter0, .suspender, .cancel, .lane, .network, .otherRequest], isLarge: true) {
            $0.hasQueue = true
        },
        Scenario("cancel on release", [.starter0, .dropHandle, .endBag, .lane, .network]) {
            $0.release = .cancelOnRelease
            $0.usesBag = true
        },
        Scenario("detached: end of the bag, explicit cancel", [.starter0, .endBag, .cancel, .lane, .network]) {
            $0.release = .detached
            $0.usesBag = true
        },
        Scenario("detached: no onEnd, end of the bag, shutdown", [.starter0, .endBag, .shutdown, .lane, .network]) {
            $0.release = .detached
            $0.usesBag = true
            $0.hasOnEnd = false
        },
        Scenario("detached: retry wait, agent.cancelAll", [.starter0, .endBag, .agentCancelAll, .lane, .network, .timer], isLarge: true) {
            $0.release = .detached
            $0.usesBag = true
            $0.script = [.retryLater, .ok, .ok, .ok]
        },
        Scenario("detached: queue, end of the bag, cancel", [.starter0, .endBag, .cancel, .lane, .network, .otherRequest], isLarge: true) {
            $0.release = .detached
            $0.usesBag = true
            $0.hasQueue = true
        },
        Scenario(
            "detached: progress, ended in the background", [.starter0, .endBagDeferred, .background, .cancel, .lane, .network],
            isLarge: true
        ) {
            $0.release = .detached
            $0.usesBag = true
            $0.hasProgress = true
        },
        Scenario("detached: suspended, end of the bag", [.starter0, .endBag, .suspender, .lane, .network]) {
            $0.release = .detached
            $0.usesBag = true
        },
        Scenario("repeat: cancel oldest", [.starter0, .starter1, .lane, .network]) { $0.replacesOldest = true },
        Scenario("repeat: cancel oldest, cancel", [.starter0, .starter1, .cancel, .lane, .network], isLarge: true) {
            $0.replacesOldest = true
            $0.hasOnEnd = false
        },
        Scenario("two runs in one bag: not prepared, end", [.starter0, .starter1, .endBag, .lane]) {
            $0.usesBag = true
            $0.failsPreparation = true
        },
        Scenario("agent.cancelAll", [.starter0, .agentCancelAll, .cancel, .lane, .network]),
        Scenario("two runs in one bag: end", [.starter0, .starter1, .endBag, .lane, .network], isLarge: true) { $0.usesBag = true },
    ]

    init(_ name: String, _ roles: [Setup.Role], isLarge: Bool = false, _ change: (inout Setup) -> Void = { _ in }) {
        var setup = Setup()
        for (index, role) in roles.enumerated() { setup.roles[index] = role }
        change(&setup)
        self.init(name: name, setup: setup, isLarge: isLarge)
    }
}
