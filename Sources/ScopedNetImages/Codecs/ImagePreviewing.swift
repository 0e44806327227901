public import FoundationEssentials

/// Makes previews of one picture while its file arrives.
///
/// A preview shows all of the picture, less sharp than it will be. Any thread may ask for one; while one is being made there is no other.
public protocol ImagePreviewing: AnyObject, Sendable {
    /// Makes a preview.
    ///
    /// - Parameter data: the file from its start, as far as it came; the bytes of earlier calls are its beginning.
    /// - Returns: the preview, in its orientation as stored; nil where there is nothing new to show since the last one.
    /// - Throws: ``ImageError``, and `CancellationError` after ``cancel()``. There are no further previews then.
    func preview(_ data: Data) throws -> DecodedImage?

    /// Makes the picture itself of what was decoded for its previews, and of the rest.
    ///
    /// - Parameter data: the whole file.
    /// - Returns: the picture, as a decoder makes it; nil where this cannot tell, after an error for example, and a decoder has to make it.
    /// - Throws: ``ImageError`` where the file is damaged or cut short, and `CancellationError` after ``cancel()``.
    func picture(_ data: Data) throws -> DecodedImage?

    /// Ends a preview that is being made, and all later ones: the picture itself has come.
    func cancel()
}
