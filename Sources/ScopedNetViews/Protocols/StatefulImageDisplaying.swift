public import ScopedNetImages

/// A control, such as a button, that shows a picture for each of its states, on each of two layers.
///
/// ``StatefulImageSlots`` holds it weakly and calls it on the main actor alone.
@MainActor public protocol StatefulImageDisplaying: AnyObject {
    /// Sets the picture for a state.
    ///
    /// - Parameters:
    ///   - image: the picture; nil for none.
    ///   - state: the state in which it is shown. Default of a control in a state without a picture: that of `normal`.
    ///   - layer: the place of the picture.
    func display(_ image: DecodedImage?, for state: ControlState, on layer: ControlLayer)
}

/// The state of a control, or a combination of states. The empty set is `normal`.
public struct ControlState: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Makes a set of bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// None of the others.
    public static let normal: ControlState = []
    /// The control is pressed.
    public static let highlighted = ControlState(rawValue: 1)
    /// The control is switched on.
    public static let selected = ControlState(rawValue: 2)
    /// The control cannot be used.
    public static let disabled = ControlState(rawValue: 4)
}

/// A place for a picture in a control.
public enum ControlLayer: Sendable, Hashable, CaseIterable {
    /// The picture beside or in place of the title.
    case image
    /// The picture behind title and image.
    case background
}
