import CNetlink
import Foundation
import Glibc
package import Testing

/// A network namespace of a test's own, on a thread of its own. Processes started on that thread live in it.
package enum Namespace {
    package static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        let result = await ProgramRun.onThread {
            Result { () throws -> Value in
                guard cnl_unshare_network() == 0 else { throw CommandFailure(description: "unshare: \(String(cString: strerror(errno)))") }
                try ip("link set lo up")
                return try body()
            }
        }
        return try result.get()
    }

    /// Nil: there are namespaces here. Else why there are none.
    package static let obstacle: Comment? = {
        let done = DispatchSemaphore(value: 0)
        let answer = Answer()
        Thread.detachNewThread {
            if cnl_unshare_network() != 0 {
                answer.text = "this process may not make network namespaces (run it in `unshare -Urn`)"
            } else {
                do { try ip("link add v0 type veth peer name p0") } catch { answer.text = "\(error)" }
            }
            done.signal()
        }
        done.wait()
        return answer.text.map { Comment(rawValue: $0) }
    }()

    package static var isAvailable: Bool { obstacle == nil }

    /// One command of ip(8).
    package static func ip(_ arguments: String) throws {
        let result = try ProgramRun(["ip"] + arguments.split(separator: " ").map(String.init)).blockUntilResult()
        guard result.status == 0 else { throw CommandFailure(description: "ip \(arguments): \(result.errors)") }
    }

    /// v0 with an address and a default route.
    package static func addUplink() throws {
        for command in [
            "link add v0 type veth peer name p0", "link set p0 up", "link set v0 up", "addr add 10.9.0.1/24 dev v0",
            "route add default via 10.9.0.2",
        ] { try ip(command) }
    }

    private final class Answer: @unchecked Sendable {
        // Safety: written before the semaphore is signalled, read after it was waited for.
        var text: String?
    }
}
