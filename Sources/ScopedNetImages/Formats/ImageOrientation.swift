/// The way in which the rows and columns of a stored picture are shown (EXIF 2.32, tag 0x0112; TIFF 6.0 section 8).
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    case up = 1
    case upMirrored
    case down
    case downMirrored
    case leftMirrored
    case right
    case rightMirrored
    case left

    /// True where the width shown is the height stored.
    public var swapsSides: Bool { rawValue >= 5 }
}
