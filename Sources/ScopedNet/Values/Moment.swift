/// A moment of `ContinuousClock`, in a layout that the compiler knows.
///
/// `ContinuousClock.Instant` belongs to a library that may change it, so that a structure with one in it is copied by functions that look its size up:
/// 8 % of the instructions of a request, where the metrics and the result of an attempt had one. This counts from a moment of this process.
package struct Moment: Sendable, Hashable {
    private static let origin = ContinuousClock.now
    private var sinceOrigin: Duration

    package init(_ instant: ContinuousClock.Instant) { sinceOrigin = Self.origin.duration(to: instant) }

    package static var now: Moment { Moment(.now) }

    package var instant: ContinuousClock.Instant { Self.origin.advanced(by: sinceOrigin) }
}
