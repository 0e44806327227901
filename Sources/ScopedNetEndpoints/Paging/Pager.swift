public import ScopedNet
import Synchronization

/// A list that is loaded page by page, as a view scrolls. Made by ``APIClient/pager(of:prefetching:in:)``.
///
/// ```swift
/// let pager = client.pager(of: ListStories(), in: bag)
/// while let page = try await pager.next() { rows += page.elements }
/// ```
///
/// At most one page is on its way: whoever asks meanwhile gets the same one. After an error the same page is asked again. Any thread may use it. It ends
/// with its bag, and a page on its way also with the pager.
public final class Pager<Service: APIService, E: PagedEndpoint>: Sendable {
    typealias Fetched = Result<Page<E>, Service.Failure>
    /// Nil: the wait was cancelled.
    private typealias Waiter = CheckedContinuation<Result<Page<E>?, Service.Failure>?, Never>

    private struct State: Sendable {
        var machine: PageMachine
        /// Of the page that comes next.
        var place: NextPage<E>.Place
        var index = 0
        var following: NextPage<E>.Place?
        var waiters: [UInt64: Waiter] = [:]
        var answer: Fetched?
        var fetch: Task<Void, Never>?

        mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }

    private enum Action {
        case fetch(Int, NextPage<E>.Place, index: Int)
        case cancel(Task<Void, Never>)
        case answer(Waiter, Result<Page<E>?, Service.Failure>?)
        /// Values of its user are let go outside the lock.
        case letGo(NextPage<E>.Place?, NextPage<E>.Place?, Fetched?)
    }

    private let client: APIClient<Service>
    private let first: E
    private let state: Lock<State>
    private let ids = Atomic<UInt64>(0)
    /// Ends what is on its way when the pager goes, or its owner's bag.
    private let scope: PagerScope

    init(_ client: APIClient<Service>, _ first: E, fetchesAhead: Bool, scope: PagerScope) {
        self.client = client
        self.first = first
        self.scope = scope
        state = Lock(State(machine: PageMachine(fetchesAhead: fetchesAhead), place: NextPage<E>.Place(endpoint: first)))
    }

    /// Loads the next page, or hands over the one that was fetched ahead.
    ///
    /// - Returns: the page; nil behind the last one.
    /// - Throws: the service's error; the page stays the next one. Cancelling the task ends the wait at once, and the request where nobody else waits for it.
    public func next() async throws(Service.Failure) -> Page<E>? {
        let id = ids.wrappingAdd(1, ordering: .relaxed).newValue
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                // A cancel that came before this finds nobody who waits.
                if Task.isCancelled || scope.isEnded { waiter.resume(returning: nil) } else { ask(id, waiter) }
            }
        } onCancel: {
            leave(id)
        }
        guard let result else { throw client.service.failure(of: first, .cancelled(scope.isEnded ? .ownerReleased : .taskCancelled)) }
        return try result.get()
    }

    /// Begins with the first page again. Somebody who waits while this is called may still get the page that was on its way: begin the rows anew with the
    /// one that ``Page/isFirst``.
    public func restart() {
        var old: Action?
        take { state in
            old = .letGo(state.place, state.following, state.answer)
            (state.place, state.index, state.following, state.answer) = (NextPage<E>.Place(endpoint: first), 0, nil, nil)
            return state.machine.restart()
        }
        _ = old
    }

    private func ask(_ id: UInt64, _ waiter: Waiter) {
        take { state in
            let steps = state.machine.ask()
            state.waiters[id] = waiter
            return steps
        }
        // The task may have been cancelled while it was put into line.
        if Task.isCancelled { leave(id) }
    }

    private func leave(_ id: UInt64) {
        var waiter: Waiter?
        // In one step: a page that came in between would be handed to nobody.
        take { state in
            waiter = state.waiters.removeValue(forKey: id)
            return waiter == nil ? [] : state.machine.leave()
        }
        waiter?.resume(returning: nil)
    }

    private func fetched(_ number: Int, _ result: Fetched, following: NextPage<E>.Place?) {
        take { state in
            guard state.machine.expects(number) else { return [] }
            // There is none: one that was stored ends the fetching, and one that was handed over is gone.
            (state.answer, state.following) = (result, following)
            var succeeded = false
            if case .success = result { succeeded = true }
            return state.machine.fetched(number, succeeded: succeeded)
        }
    }

    /// Decides under the lock, and acts outside of it.
    private func take(_ decide: (inout State) -> [PageMachine.Step]) {
        let actions = state.withLock { state in
            var actions: [Action] = []
            var steps = decide(&state)
            while !steps.isEmpty { steps += perform(steps.removeFirst(), &state, &actions) }
            return actions
        }
        for action in actions { act(action) }
    }

    /// - Returns: steps that follow from the page that was handed over.
    private func perform(_ step: PageMachine.Step, _ state: inout State, _ actions: inout [Action]) -> [PageMachine.Step] {
        switch step {
        case .fetch(let number): actions.append(.fetch(number, state.place, index: state.index))
        case .abandon:
            if let fetch = state.fetch { actions.append(.cancel(fetch)) }
            state.fetch = nil
        case .end:
            for waiter in state.takeWaiters() { actions.append(.answer(waiter, .success(nil))) }
        case .deliver, .deliverStored:
            guard let answer = state.answer else { return [] }
            state.answer = nil
            for waiter in state.takeWaiters() { actions.append(.answer(waiter, answer.map { $0 })) }
            guard case .success(let page) = answer else { return [] }
            state.index += 1
            actions.append(.letGo(state.place, nil, nil))
            if let following = state.following { state.place = following }
            state.following = nil
            return state.machine.advance(isLast: page.isLast)
        }
        return []
    }

    private func act(_ action: Action) {
        switch action {
        case .fetch(let number, let place, let index): fetch(number, place, index: index)
        case .cancel(let task): task.cancel()
        case .answer(let waiter, let result): waiter.resume(returning: result)
        case .letGo: break
        }
    }

    private func fetch(_ number: Int, _ place: NextPage<E>.Place, index: Int) {
        // Not the pager: it may go while a page is on its way.
        let task = scope.bag.task { [client, weak self] in
            let (result, following) = await Self.fetch(place, index: index, client)
            self?.fetched(number, result, following: following)
        }
        // It was taken back, or has ended, before its handle was known.
        let isLate = state.withLock { state in
            guard state.machine.expects(number) else { return true }
            state.fetch = task
            return false
        }
        if isLate { task.cancel() }
    }

    private static func fetch(
        _ place: NextPage<E>.Place, index: Int, _ client: APIClient<Service>
    ) async -> (Fetched, NextPage<E>.Place?) {
        let (endpoint, way) = (place.endpoint, place.endpoint.nextPage)
        if let refusal = place.refusal { return (.failure(client.service.failure(of: endpoint, refusal)), nil) }
        do throws(CallFailure<Service.Failure>) {
            let response = try await client.reply(to: endpoint, link: place.link, in: nil)
            var place = place
            if way.followsLinks, place.origin == nil {
                place.origin = (try? RequestURL(client.request(endpoint, link: place.link, fileID: #fileID, line: #line).url))?.origin
            }
            let following = way.following(place, response)
            let page = Page<E>(
                index: index, elements: endpoint.elements(of: response.value), response: response, isLast: following == nil)
            return (.success(page), following)
        } catch { return (.failure(error.error), nil) }
    }
}
