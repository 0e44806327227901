// Pure: no clock, lock, thread or import. The model check and its mutants compile this very file.

/// The way of a run from step to step.
///
/// ```
/// created ─▶ (interceptCall) ─▶ (claimTarget) ─▶ authorize ─▶ consultCache ─▶ (coalesce) ─▶ (condition) ─▶ awaitPath ─┐
///        ┌─────────────────────────────────────────────────────────────────────────────────────────────────────────────┘
///        ▼
/// interceptExchange ─▶ awaitRate ─▶ awaitSlot ─▶ transfer ─▶ awaitDisposition ─▶ finishPart ─▶ leaveExchange ─▶ updateCache ─▶ judge
///
/// judge ─┬─ challenge, redirect ─▶ consultCache
///        ├─ retry ─▶ backOff ─▶ interceptExchange
///        ├─ accepted ─▶ (placeFile) ─▶ makeValue ─▶ (copyToCache) ─▶ deliver
///        └─ refused ─▶ storeRefused ─▶ fail ─▶ deliver
///
/// serve ─▶ judge, with something stored: from consultCache, updateCache, judge and replaceError
/// ```
///
/// Steps in brackets are left out where there is nothing for them to do. The rows that the picture leaves out are rare: what is suspended with a slot
/// is parked, a wait that is too long goes to `replaceError`, a slot of a host that wants a pause goes back to `awaitRate`, a part that does not fit to
/// `interceptExchange`, and the interceptors of the call may begin anew.
///
/// It knows nothing of threads and cancels: a cancelled run may come as far as `deliver`, where nothing of it is called. Call it only from the thread
/// that owns the run now.
package struct RunMachine: Hashable, Sendable {
    package private(set) var step = RunStep.created

    package init() {}

    /// Says what is next after the end of the present step.
    ///
    /// - Returns: nil for an event that the present step cannot end with; nothing changes then. That is a mistake of the caller.
    package mutating func handle(_ event: RunEvent) -> RunStep? {
        guard let next = next(after: event) else { return nil }
        step = next
        return next
    }

    private func next(after event: RunEvent) -> RunStep? {
        // `failed` leads to `fail` from every step but `fail` itself and `deliver`.
        if case .failed = event { return step == .fail || step == .deliver ? nil : .fail }
        switch step {
        case .created, .interceptCall, .claimTarget, .authorize: return prepared(event)
        case .consultCache, .coalesce, .serveFirst, .serve, .condition: return cached(event)
        case .awaitPath, .interceptExchange, .awaitRate, .awaitSlot, .park, .transfer, .backOff, .replaceError: return sent(event)
        case .awaitDisposition, .finishPart, .leaveExchange, .updateCache: return received(event)
        case .judge(let declined): return judged(event, after: declined)
        case .storeRefused, .placeFile, .makeValue, .copyToCache, .fail, .deliver: return concluded(event)
        }
    }

    // MARK: Before the first exchange

    private func prepared(_ event: RunEvent) -> RunStep? {
        switch (step, event) {
        case (.created, .began(.call)): .interceptCall
        case (.created, .began(.request)), (.interceptCall, .began(.request)), (.claimTarget, .done): .authorize
        case (.created, .began(.download)), (.interceptCall, .began(.download)): .claimTarget
        // An interceptor of the call has answered, outside of challenges and redirects.
        case (.interceptCall, .answered): .judge(after: .interception)
        case (.created, .began(.refresh)): .condition
        case (.authorize, .changed(let elsewhere)): .consultCache(elsewhere: elsewhere)
        default: nil
        }
    }

    // MARK: The cache

    private func cached(_ event: RunEvent) -> RunStep? {
        switch (step, event) {
        case (.consultCache, .uncached), (.condition, .done): .awaitPath
        case (.consultCache, .found): .serve
        case (.consultCache, .foundFirst): .serveFirst
        case (.consultCache, .missed(let isShared)): isShared ? .coalesce : .condition
        case (.coalesce, .done), (.serveFirst, .done): .condition
        case (.coalesce, .expired), (.serve, .expired): .replaceError
        // The answer that was waited for is there, or what was to be served is gone.
        case (.coalesce, .changed(let elsewhere)), (.serve, .changed(let elsewhere)): .consultCache(elsewhere: elsewhere)
        case (.consultCache, .answered), (.serve, .answered): .judge(after: nil)
        default: nil
        }
    }

    // MARK: The way to the server

    private func sent(_ event: RunEvent) -> RunStep? {
        switch (step, event) {
        case (.awaitPath, .done), (.backOff, .done): .interceptExchange
        case (.interceptExchange, .done), (.park, .resumed(hasSlot: false)), (.awaitSlot, .delayed): .awaitRate
        case (.awaitRate, .done): .awaitSlot
        case (.awaitSlot, .suspended): .park
        case (.awaitSlot, .done), (.park, .resumed(hasSlot: true)): .transfer
        case (.transfer, .done): .awaitDisposition
        case (.awaitPath, .expired), (.interceptExchange, .expired), (.awaitRate, .expired), (.awaitSlot, .expired): .replaceError
        case (.replaceError, .found): .serve
        // Also where an interceptor of exchanges has answered.
        case (.replaceError, .answered), (.interceptExchange, .answered): .judge(after: nil)
        default: nil
        }
    }

    // MARK: The response

    private func received(_ event: RunEvent) -> RunStep? {
        switch (step, event) {
        case (.awaitDisposition, .done): .finishPart
        case (.awaitDisposition, .expired), (.leaveExchange, .expired): .replaceError
        case (.finishPart, .done): .leaveExchange
        // The part does not fit: the whole file is asked for.
        case (.finishPart, .retried): .interceptExchange
        case (.leaveExchange, .done): .updateCache
        // An interceptor of exchanges sends another one.
        case (.leaveExchange, .retried): .backOff
        case (.updateCache, .answered): .judge(after: nil)
        case (.updateCache, .found): .serve
        case (.updateCache, .missed): .condition
        default: nil
        }
    }

    private func judged(_ event: RunEvent, after declined: ResponseVerdict?) -> RunStep? {
        switch event {
        // In one direction only: what was declined is not asked again about the same response.
        case .declined(let verdict): verdict.comes(after: declined) ? .judge(after: verdict) : nil
        case .changed(let elsewhere): .consultCache(elsewhere: elsewhere)
        // An interceptor of the call sends another request.
        case .began(.request): .authorize
        case .began(.download): .claimTarget
        case .retried: .backOff
        case .found: .serve
        case .answered: .judge(after: nil)
        case .refused: .storeRefused
        case .expired: .replaceError
        case .accepted(let hasFile): hasFile ? .placeFile : .makeValue
        default: nil
        }
    }

    // MARK: The outcome

    private func concluded(_ event: RunEvent) -> RunStep? {
        switch (step, event) {
        case (.placeFile, .done): .makeValue
        case (.makeValue, .decoded): .copyToCache
        case (.makeValue, .done), (.copyToCache, .done), (.fail, .done): .deliver
        // The interceptors of the call have an answer to the error, or send another request.
        case (.fail, .answered): .judge(after: .interception)
        case (.fail, .began(.request)): .authorize
        // Its target was in use, or could not be opened.
        case (.fail, .began(.download)): .claimTarget
        default: nil
        }
    }
}
