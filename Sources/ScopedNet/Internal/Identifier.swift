import Synchronization

/// Numbers that no two objects of a process share, whatever session or agent made them (defect: ids per session).
package enum Identifier {
    private static let last = Atomic<UInt64>(0)

    @inline(__always)
    package static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }
}
