import Synchronization

/// How many objects of each kind are alive in the process; one relaxed atomic each, so it stays on in release builds.
///
/// `await agent.waitUntilIdle()` and then ``LiveObjects/snapshot()`` is the census that tests and the
/// demo end with. A thread may still be on its way out of a call when the last run is over, and holds
/// what it was called on for that moment: a test looks again before it calls that a leak.
@_spi(Census) public enum LiveObjects {
    /// A kind of object the library counts.
    public enum Kind: Int, CaseIterable, Sendable {
        /// `transfer` is one exchange of a transport, `easyHandle` a handle of libcurl, and `timer` a deadline that has not passed yet; `imageBuffer` is the
        /// memory of a decoded picture.
        case request, run, operation, bag, session, transport, transfer, easyHandle, bodyStream, timer, trustCheck, imageReceipt,
            imageBuffer
    }

    /// The counts of one moment. Kinds with nothing alive are absent from `description`.
    public struct Snapshot: Sendable, Equatable, CustomStringConvertible {
        package var counts: [Int]

        /// The number of live objects of one kind.
        public subscript(kind: Kind) -> Int { counts[kind.rawValue] }

        /// Everything added up.
        public var total: Int { counts.reduce(0, +) }

        /// The kinds that are alive with their numbers, such as `run: 2, bag: 1`, or `nothing alive`.
        public var description: String {
            let alive = Kind.allCases.filter { self[$0] != 0 }.map { "\($0): \(self[$0])" }
            return alive.isEmpty ? "nothing alive" : alive.joined(separator: ", ")
        }
    }

    /// Counts the live objects, each kind for itself: objects that come and go meanwhile may be in one count and not in another.
    public static func snapshot() -> Snapshot {
        Snapshot(counts: counters.map { $0.value.load(ordering: .relaxed) })
    }

    @inline(__always)
    package static func born(_ kind: Kind) { counters[kind.rawValue].value.add(1, ordering: .relaxed) }

    @inline(__always)
    package static func died(_ kind: Kind) { counters[kind.rawValue].value.subtract(1, ordering: .relaxed) }

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    private static let counters: [Counter] = Kind.allCases.map { _ in Counter() }
}
