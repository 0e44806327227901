import ScopedNet

/// The view of a slot, as far as it shows a work that goes on: it is told once of the end, also where the slot has gone by then, and not where it shows
/// another work already.
@MainActor final class ShownWork<Target: AnyObject> {
    private(set) weak var target: Target?
    private let stop: @MainActor (Target) -> Void
    private var number: UInt64?

    /// - Parameters:
    ///   - target: the view, held weakly.
    ///   - stop: tells it of the end of a work; captures nothing.
    init(_ target: Target, stop: @escaping @MainActor (Target) -> Void) { (self.target, self.stop) = (target, stop) }

    /// The view shows the work with this number.
    func begin(_ number: UInt64) { self.number = number }

    /// The view knows the end of the work with this number, or has nothing to be told of it.
    func forget(_ number: UInt64) { if self.number == number { self.number = nil } }

    /// The view shows no work.
    func forget() { number = nil }

    /// Tells the view that no work goes on, if it shows one.
    func end() {
        guard number != nil else { return }
        number = nil
        if let target { stop(target) }
    }

    /// The same for the work with this number.
    func end(_ number: UInt64) { if self.number == number { end() } }

    /// Cancels on any thread; the view is told on the main actor, soon.
    nonisolated func end(_ number: UInt64, after cancel: @escaping @Sendable () -> Void) -> any Cancellable {
        AnyCancellable { [self] in
            cancel()
            DeliveryLane.main.enqueue(.work { MainActor.assumeIsolated { self.end(number) } })
        }
    }
}
