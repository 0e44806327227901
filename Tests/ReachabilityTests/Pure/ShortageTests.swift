import CNetlink
import CleanSlate
import Foundation
import SystemSupport
import Testing

@testable import Reachability

/// Lookups that fail for lack of memory, from a kernel of the test's own at the other end of a socket pair.
@Suite(.leavesNothing, .timeLimit(.minutes(5))) struct ShortageTests {
    /// Answers every question with this error.
    private final class RefusingKernel: Sendable {
        private let ended = DispatchSemaphore(value: 0)

        init(_ descriptor: Int32, _ code: Int32) {
            Thread { [ended] in
                var request = [UInt8](repeating: 0, count: 4_096)
                while recv(descriptor, &request, request.count, 0) >= NetlinkMessage.headerSize {
                    let sequence = request.withUnsafeBytes { $0.value(at: 8, as: UInt32.self) ?? 0 }
                    var message = NetlinkRequest(type: Int(NLMSG_ERROR), flags: 0, sequence: sequence)
                    message.append(-code)
                    let bytes = message.finished()
                    _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                }
                close(descriptor)
                ended.signal()
            }.start()
        }

        func join() { ended.wait() }
    }

    private func outcome(of code: Int32) throws -> PathEvaluator.Outcome {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw CommandFailure("socketpair")
        }
        let refusing = RefusingKernel(ends[1], code)
        let outcome: PathEvaluator.Outcome
        do {
            let queries = NetlinkQuerySocket(NetlinkSocket(adopting: ends[0]))
            let kernel = NetlinkKernel(classifier: InterfaceClassifier(usesSysfs: false), queries: queries)
            outcome = kernel.evaluate(PathQuestion(target: .defaultPath), settings: EvaluationSettings()).0
        }
        refusing.join()
        return outcome
    }

    @Test(arguments: [ENOBUFS, ENOMEM]) func aLackOfMemoryIsNoLackOfARoute(_ code: Int32) throws {
        let outcome = try outcome(of: code)
        #expect(outcome.shortage == SystemFailure("route lookup", code))
    }

    @Test(arguments: [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EPERM]) func whatTheKernelSaysOfARouteIsAnAnswer(_ code: Int32) throws {
        let outcome = try outcome(of: code)
        #expect(outcome.shortage == nil && !outcome.path.isSatisfied)
    }

    /// A namespace that cannot be opened for lack of a descriptor is there all the same.
    @Test func errorsSayWhatIsLacking() {
        let failures = [
            ("setns", EPERM), ("setns", EBADF), ("open(/x)", ENOENT), ("open(/x)", EMFILE), ("setns", EMFILE), ("thread", EAGAIN),
        ]
        let codes = failures.map { ReachabilityError(SystemFailure($0.0, $0.1)).code }
        #expect(codes == [.namespaceUnavailable, .namespaceUnavailable, .namespaceUnavailable, .resources, .resources, .resources])
    }
}
