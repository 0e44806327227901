/// A view that shows how far a body has come: a bar, or a line of text.
///
/// ``ProgressSlot`` holds it weakly and calls it on the main actor alone.
@MainActor public protocol ProgressDisplaying: AnyObject {
    /// Shows the progress.
    ///
    /// - Parameters:
    ///   - progress: the share that has come, or that it is not known.
    ///   - animated: true where the change may be drawn as a movement.
    func display(_ progress: ProgressValue, animated: Bool)

    /// Follows a transfer that is suspended, and resumed. Default: nothing changes.
    ///
    /// - Parameter isPaused: true while no byte moves on purpose.
    func setPaused(_ isPaused: Bool)

    /// The transfer has ended, or is not followed any more; nothing is shown of it from here on. Default: the last progress stays.
    func endProgress()
}

extension ProgressDisplaying {
    /// Changes nothing.
    public func setPaused(_ isPaused: Bool) {}
    /// Leaves the last progress.
    public func endProgress() {}
}

/// The progress that a view shows.
public enum ProgressValue: Sendable, Hashable {
    /// The length is not known: a bar pulses.
    case indeterminate
    /// The share that has come, from 0 to 1.
    case fraction(Double)

    /// The progress of a fraction; nil where the length is not known.
    ///
    /// - Parameter fraction: a share, which is cut to 0…1.
    public init(_ fraction: Double?) {
        self = fraction.map { .fraction($0.isNaN ? 0 : min(1, max(0, $0))) } ?? .indeterminate
    }

    /// The share from 0 to 1; nil where it is not known.
    public var fraction: Double? { if case .fraction(let fraction) = self { fraction } else { nil } }
}
