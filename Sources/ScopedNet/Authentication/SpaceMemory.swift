import SystemSupport

/// A ``SpaceTable`` that several runs share. Any thread.
package final class SpaceMemory: Sendable {
    private let table = Lock(SpaceTable())

    package init() {}

    package func change<Result: Sendable>(_ body: (inout SpaceTable) -> Result) -> Result { table.withLock { body(&$0) } }

    /// Random, and new for each request (RFC 7616 section 5.12).
    static func clientNonce() -> String {
        var generator = SystemRandomNumberGenerator()
        return String(generator.next() as UInt64, radix: 16) + String(generator.next() as UInt64, radix: 16)
    }
}
