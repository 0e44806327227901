import SystemSupport

/// Work that several members of a ``RequestCoalescer`` wait for: as urgent as the most urgent of them.
public final class CoalescedWork: CoalescedMember {
    private struct State {
        var level = Priority.normal.level
        var operation: ScopedOperation?
        /// The last member left before there was an operation to cancel.
        var isAbandoned = false
        var runs: [UInt64: WeakRun] = [:]
        var changes: [@Sendable (Priority) -> Void] = []
    }

    private struct WeakRun: Sendable {
        weak let run: RunDriver?
    }

    let id = Identifier.next()
    private let state = Lock(State())

    init() {}

    /// The priority of the most urgent member.
    public var priority: Priority { Priority.allCases.first { $0.level == level } ?? .normal }

    private var level: UInt8 { state.withLock { $0.level } }

    /// Gives a run the priority of the most urgent member, now and whenever that changes.
    public func carry(_ run: Run) {
        state.withLock { state in
            state.runs = state.runs.filter { $0.value.run != nil }
            state.runs[run.id] = WeakRun(run: run.core)
        }
        apply()
    }

    /// Calls `change` with the priority of the most urgent member, now and whenever that changes, for what has a priority and is no run: a place in a queue.
    /// Any thread. The last call is with the priority that holds; two changes at once may be told in one.
    public func carry(_ change: @escaping @Sendable (Priority) -> Void) {
        state.withLock { $0.changes.append(change) }
        apply()
    }

    /// Returns the response to a request that is a step of this work, and as urgent as the most urgent member.
    ///
    /// As ``Request/response(in:fileID:line:)``, which it is besides.
    public func response<Value>(
        of request: Request<Value>, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Response<Value> {
        try await request.response(in: TaskScope.bag, CodeOrigin(fileID, line)) { [self] in carry($0) }
    }

    /// Returns the value of a request that is a step of this work, and as urgent as the most urgent member.
    ///
    /// As ``Request/value(in:fileID:line:)``, which it is besides.
    public func value<Value>(
        of request: Request<Value>, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(NetworkError) -> Value {
        try await response(of: request, fileID: fileID, line: line).value
    }

    func begin(_ operation: ScopedOperation) {
        let isAbandoned = state.withLock { state in
            if !state.isAbandoned { state.operation = operation }
            return state.isAbandoned
        }
        if isAbandoned { operation.cancel() }
    }

    func setFollowersLevel(_ level: UInt8) -> Bool {
        let changes = state.withLock { state in
            defer { state.level = level }
            return state.level != level
        }
        if changes { apply() }
        return changes
    }

    /// Two levels may be set at once: whoever applies one looks again, so that the last is what holds.
    private func apply() {
        while true {
            let (level, runs, changes) = state.withLock { ($0.level, $0.runs.values.compactMap(\.run), $0.changes) }
            let priority = Priority.allCases.first { $0.level == level } ?? .normal
            for run in runs { run.changePriority(priority) }
            for change in changes { change(priority) }
            if self.level == level { return }
        }
    }

    func followersHaveGone() {
        let operation = state.withLock { state in
            defer { (state.operation, state.isAbandoned) = (nil, true) }
            return state.operation
        }
        operation?.cancel()
    }
}
