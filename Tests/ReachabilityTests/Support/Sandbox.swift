import CNetlink
import CSandbox
import Glibc
import SystemSupport

@testable import Reachability

/// System calls that are refused to a thread and to those it makes, as a sandbox does it for a whole process.
enum Sandbox {
    enum Call: String, Sendable, CaseIterable {
        case socket, bind, setns, sendto

        fileprivate var number: UInt32 {
            #if arch(arm64)
            switch self {
            case .socket: 198
            case .bind: 200
            case .setns: 268
            case .sendto: 206
            }
            #else
            switch self {
            case .socket: 41
            case .bind: 49
            case .setns: 308
            case .sendto: 44
            }
            #endif
        }
    }

    /// What is refused, and with which error; with 0 the call says that it was done, and was not.
    struct Refusal: Sendable {
        var call: Call
        var code: Int32
        init(_ call: Call, _ code: Int32) { (self.call, self.code) = (call, code) }
    }

    /// A thread that netlink is refused to.
    static let withoutNetlink = [Refusal(.socket, EAFNOSUPPORT)]

    /// Runs the body on a thread of its own and waits for it. With `isElsewhere` the thread is in a fresh network namespace.
    static func run<Value: Sendable>(
        refusing refusals: [Refusal] = [], isElsewhere: Bool = false, _ body: @escaping @Sendable () throws -> Value
    ) throws -> Value {
        let slot = Slot<Result<Value, any Error>?>(Lock(nil))
        let thread = try SystemThread.start(name: "reachability", isDetached: false) {
            let result = Result { () throws -> Value in
                if isElsewhere, cnl_unshare_network() != 0 { throw CommandFailure("unshare") }
                for refusal in refusals where !refuse(refusal) { throw CommandFailure("no filter") }
                return try body()
            }
            slot.lock.withLock { $0 = result }
        }
        pthread_join(thread, nil)
        guard let result = slot.lock.withLock({ $0 }) else { throw CommandFailure("no answer") }
        return try result.get()
    }

    private final class Slot<Value>: Sendable {
        let lock: Lock<Value>
        init(_ lock: consuming Lock<Value>) { self.lock = lock }
    }

    private static func refuse(_ refusal: Refusal) -> Bool {
        let load: UInt16 = 0x20
        let jumpIfEqual: UInt16 = 0x15
        let give: UInt16 = 0x06
        var program = [
            sock_filter(code: load, jt: 0, jf: 0, k: 0),
            sock_filter(code: jumpIfEqual, jt: 0, jf: 3, k: refusal.call.number),
            // The first argument: a socket's family. Of the others, whose arguments a filter cannot read, every call is refused.
            sock_filter(code: load, jt: 0, jf: 0, k: 16),
            sock_filter(code: jumpIfEqual, jt: 0, jf: refusal.call == .socket ? 1 : 0, k: UInt32(AF_NETLINK)),
            sock_filter(code: give, jt: 0, jf: 0, k: 0x0005_0000 | UInt32(refusal.code)),
            sock_filter(code: give, jt: 0, jf: 0, k: 0x7fff_0000),
        ]
        let count = UInt16(program.count)
        return program.withUnsafeMutableBufferPointer { instructions in
            var filter = sock_fprog(len: count, filter: instructions.baseAddress)
            return csandbox_filter_system_calls(&filter) == 0
        }
    }
}
