import CNetlink
import Glibc
import SystemSupport

/// The kernel seen through netlink: the table of interfaces, kept up to date by events, and route lookups, made afresh each time.
///
/// Any thread may evaluate; one lock orders evaluations, so that a later ticket is a later look at the kernel.
final class NetlinkKernel: Kernel {
    private struct State: ~Copyable {
        var queries: NetlinkQuerySocket
        var table = InterfaceTable()
        var ticket: UInt64 = 0
        var tornDumps: UInt64 = 0
        /// What the dumps since this was last taken showed to be gone.
        var losses = Losses()
    }

    private let state: Lock<State>
    private let classifier: InterfaceClassifier

    convenience init(classifier: InterfaceClassifier) throws(SystemFailure) {
        self.init(classifier: classifier, queries: try NetlinkQuerySocket())
    }

    init(classifier: InterfaceClassifier, queries: consuming sending NetlinkQuerySocket) {
        self.classifier = classifier
        state = Lock(State(queries: queries))
    }

    var table: InterfaceTable { state.withLock { $0.table } }
    /// Dumps during which the kernel's tables changed.
    var tornDumps: UInt64 { state.withLock { $0.tornDumps } }
    var lookups: UInt64 { state.withLock { $0.queries.lookups } }

    /// Replaces the table by what the kernel holds now.
    ///
    /// - Returns: false when the dumps kept being torn; what they held is in the table, and they are worth another try.
    func load() throws(SystemFailure) -> Bool {
        for attempt in 0..<5 {
            if attempt > 0 { usleep(200 << UInt32(attempt)) }
            if try loadOnce() { return true }
        }
        return false
    }

    private func loadOnce() throws(SystemFailure) -> Bool {
        try state.withLock { state throws(SystemFailure) in
            var table = InterfaceTable()
            var isComplete = true
            // One dump at a time: a socket has room for no second.
            for part in 0..<2 {
                let take: (NetlinkMessage) -> Void = { _ = table.apply($0, classify: self.classifier.kind) }
                switch part == 0 ? state.queries.dumpLinks(take) : state.queries.dumpAddresses(take) {
                case .complete: break
                case .interrupted:
                    isComplete = false
                    state.tornDumps += 1
                case .failed(EBUSY): isComplete = false
                case .failed(let code): throw SystemFailure("netlink dump", code)
                }
            }
            state.losses.formUnion(table.losses(since: state.table))
            state.table = table
            return isComplete
        }
    }

    /// What is gone by what `load` read, of which no event may have told.
    func takeLosses() -> Losses {
        state.withLock { state in
            defer { state.losses = Losses() }
            return state.losses
        }
    }

    /// Adds to what is known already about a batch of events.
    func apply(_ datagram: UnsafeRawBufferPointer, to change: inout KernelChange) {
        state.withLock { state in
            for message in NetlinkMessages(datagram) { change.add(state.table.apply(message, classify: classifier.kind)) }
        }
    }

    /// Events keep the table.
    func readInterfaces() {}

    func evaluate(_ question: PathQuestion, settings: EvaluationSettings) -> (PathEvaluator.Outcome, ticket: UInt64) {
        state.withLock { state in
            state.ticket += 1
            let evaluator = PathEvaluator(table: state.table, settings: settings)
            var outcome = evaluator.evaluate(question, oracle: &state.queries)
            outcome.shortage = state.queries.takeShortage()
            return (outcome, state.ticket)
        }
    }
}

extension NetlinkQuerySocket: RouteOracle {}
