public import ScopedNetImages

/// A view that shows one picture.
///
/// ``ImageSlot`` holds it weakly and calls it on the main actor alone. A conformance draws what it is given, at once, and keeps nothing of the load.
@MainActor public protocol ImageDisplaying: AnyObject {
    /// Shows a picture in place of the one before.
    ///
    /// - Parameter image: the picture; nil for none.
    func display(_ image: DecodedImage?)

    /// Shows the picture of an unfinished load, less sharp than it will be. Default: as ``display(_:)``.
    ///
    /// - Parameter image: all of the picture, from the part that has come.
    func displayPreview(_ image: DecodedImage)
}

extension ImageDisplaying {
    /// Shows the preview as it would show the picture.
    public func displayPreview(_ image: DecodedImage) { display(image) }
}
