import SystemSupport

/// Several requests at once, of which the first error ends all.
enum ConcurrentRequests {
    /// Starts at most `limit` at a time, and returns their values in their order. `result` starts one and awaits its end.
    static func values<Element: Sendable, Value: Sendable>(
        of requests: [Element], atMost limit: Int, _ result: @escaping @Sendable (Element) async -> Result<Value, NetworkError>
    ) async throws(NetworkError) -> [Value] {
        let outcome = await withTaskGroup(of: (Int, Result<Value, NetworkError>).self) { group -> Result<[Value], NetworkError> in
            var next = 0
            func startNext(_ group: inout TaskGroup<(Int, Result<Value, NetworkError>)>) {
                guard next < requests.count else { return }
                let (index, request) = (next, requests[next])
                next += 1
                group.addTask { (index, await result(request)) }
            }
            for _ in 0..<min(max(1, limit), requests.count) { startNext(&group) }
            var values = [Value?](repeating: nil, count: requests.count)
            while let (index, result) = await group.next() {
                switch result {
                case .success(let value): values[index] = value
                case .failure(let error):
                    group.cancelAll()
                    return .failure(error)
                }
                startNext(&group)
            }
            return .success(values.compactMap { $0 })
        }
        return try outcome.get()
    }

    /// Starts requests with values of different types, and returns these.
    static func values<each Value: Sendable>(
        of request: repeat Request<each Value>, in bag: DeallocBag?, _ fileID: StaticString, _ line: Int
    ) async throws(NetworkError) -> (repeat each Value) {
        let failure = FirstFailure()
        func task<One: Sendable>(_ request: Request<One>) -> Task<One?, Never> {
            let task = Task { () -> One? in
                switch await request.result(in: bag, fileID, line) {
                case .success(let value): return value
                case .failure(let error):
                    failure.fail(with: error)
                    return nil
                }
            }
            failure.add { task.cancel() }
            return task
        }
        let tasks = (repeat task(each request))
        let result = await withTaskCancellationHandler { () async -> Result<(repeat each Value), NetworkError> in
            // The type of the error is lost in a repetition; there is no other.
            do { return .success((repeat try await failure.value(of: each tasks))) } catch {
                return .failure(error as? NetworkError ?? failure.error)
            }
        } onCancel: {
            failure.cancelAll()
        }
        return try result.get()
    }
}

extension Request {
    func result(in bag: DeallocBag?, _ fileID: StaticString, _ line: Int) async -> Result<Value, NetworkError> {
        do throws(NetworkError) { return .success(try await value(in: bag, fileID: fileID, line: line)) } catch { return .failure(error) }
    }
}

/// Tasks that are cancelled with the first of them that fails.
private final class FirstFailure: Sendable {
    private struct State {
        var error: NetworkError?
        var isCancelled = false
        var cancels: [@Sendable () -> Void] = []
    }

    private let state = Lock(State())

    func add(_ cancel: @escaping @Sendable () -> Void) {
        let isLate = state.withLock { state in
            if !state.isCancelled { state.cancels.append(cancel) }
            return state.isCancelled
        }
        if isLate { cancel() }
    }

    func fail(with error: NetworkError) {
        state.withLock { if $0.error == nil { $0.error = error } }
        cancelAll()
    }

    func cancelAll() {
        let cancels = state.withLock { state in
            state.isCancelled = true
            defer { state.cancels = [] }
            return state.cancels
        }
        for cancel in cancels { cancel() }
    }

    /// The first error; that of a cancellation where there is none.
    var error: NetworkError {
        state.withLock { $0.error } ?? .cancelled(.taskCancelled, runID: 0, phase: .preparing)
    }

    func value<Value: Sendable>(of task: Task<Value?, Never>) async throws(NetworkError) -> Value {
        if let value = await task.value { return value }
        throw error
    }
}
