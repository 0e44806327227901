public import FoundationEssentials

/// Makes files of one format of pictures.
///
/// The encoders for PNG, JPEG and WebP are part of the trait `Images`. Encoding takes as long as decoding, or many times longer: it is
/// not for the thread that draws.
public protocol ImageEncoding: Sendable {
    /// The format that it writes.
    var format: ImageFormat { get }

    /// Makes a file of a picture.
    ///
    /// - Parameter image: the picture, of any size that the format has. Colours that are multiplied by alpha are divided by it again.
    /// - Returns: the whole file.
    /// - Throws: ``ImageError``: `exceeds` for a side that the format cannot tell.
    func encode(_ image: DecodedImage) throws -> Data
}
