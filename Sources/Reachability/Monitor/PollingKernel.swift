import CNetlink
import Glibc
import SystemSupport

/// The kernel seen without netlink: connect(2) tells routes and sources, ioctl(2) and /proc the interfaces.
///
/// It sees neither gateways nor which route matched, and has to look again and again.
final class PollingKernel: Kernel {
    private struct State {
        var table = InterfaceTable()
        /// The interfaces could not be read for lack of something; the table is an older one.
        var shortage: SystemFailure?
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

    /// The lock orders the readings: an older one never replaces a newer one. On a thread that lives in the namespace watched.
    func readInterfaces() {
        state.withLock { state in
            do throws(SystemFailure) {
                state.table = try table()
                state.shortage = nil
            } catch {
                state.shortage = error
            }
        }
    }

    private func table() throws(SystemFailure) -> InterfaceTable {
        var table = InterfaceTable()
        let (addresses, names) = try ConnectRoute.interfaceAddresses(descriptor)
        for (name, index) in names {
            guard let link = ConnectRoute.link(named: name, index: index, descriptor) else { continue }
            _ = table.insert(link, classify: classifier.kind)
        }
        for address in addresses { _ = table.insert(address) }
        return table
    }

    private struct Oracle: RouteOracle {
        let table: InterfaceTable
        var lookups: UInt64 = 0
        var shortage: SystemFailure?
        mutating func answer(_ query: RouteQuery) -> RouteAnswer {
            lookups += 1
            let answer = ConnectRoute.answer(query, table: table)
            if let failure = answer.shortage { shortage = failure }
            return answer
        }
    }

    func evaluate(_ question: PathQuestion, settings: EvaluationSettings) -> (PathEvaluator.Outcome, ticket: UInt64) {
        state.withLock { state in
            state.ticket += 1
            var oracle = Oracle(table: state.table)
            var outcome = PathEvaluator(table: state.table, settings: settings).evaluate(question, oracle: &oracle)
            state.lookups += oracle.lookups
            outcome.shortage = state.shortage ?? oracle.shortage
            return (outcome, state.ticket)
        }
    }
}
