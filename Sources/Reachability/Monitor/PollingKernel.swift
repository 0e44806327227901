import CNetlink
import Glibc

/// The kernel seen without netlink: connect(2) tells routes and sources, ioctl(2) and /proc the interfaces.
///
/// It sees neither gateways nor which route matched, and has to look again and again.
final class PollingKernel: Kernel {
    private struct State {
        var table = InterfaceTable()
        var ticket: UInt64 = 0
        var lookups: UInt64 = 0
    }

    private let state = Lock(State())
    private let classifier: InterfaceClassifier
    private let descriptor: Int32

    init(classifier: InterfaceClassifier) throws(SystemFailure) {
        self.classifier = classifier
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SystemFailure("socket(AF_INET)") }
    }

    deinit { close(descriptor) }

    var lookups: UInt64 { state.withLock { $0.lookups } }

    /// Reads the interfaces anew. On a thread that lives in the namespace watched.
    func load() {
        var table = InterfaceTable()
        let (addresses, names) = ConnectRoute.interfaceAddresses(descriptor)
        for (name, index) in names {
            guard let link = ConnectRoute.link(named: name, index: index, descriptor) else { continue }
            _ = table.insert(link, classify: classifier.kind)
        }
        for address in addresses { _ = table.insert(address) }
        state.withLock { $0.table = table }
    }

    private struct Oracle: RouteOracle {
        let table: InterfaceTable
        var lookups: UInt64 = 0
        mutating func answer(_ query: RouteQuery) -> RouteAnswer {
            lookups += 1
            return ConnectRoute.answer(query, table: table)
        }
    }

    func evaluate(_ question: PathQuestion, settings: EvaluationSettings) -> (PathEvaluator.Outcome, ticket: UInt64) {
        state.withLock { state in
            state.ticket += 1
            var oracle = Oracle(table: state.table)
            let outcome = PathEvaluator(table: state.table, settings: settings).evaluate(question, oracle: &oracle)
            state.lookups += oracle.lookups
            return (outcome, state.ticket)
        }
    }
}
