#if Images
extension [any ImageDecoding] {
    /// The decoders of this library, with the C codecs in a process of their own: JPEG, PNG and WebP by ``IsolatedDecoder``.
    ///
    /// - Parameters:
    ///   - decoder: the isolated decoder.
    ///   - includesSwiftDecoders: true for GIF, BMP, ICO, XBM and TIFF too, which are decoded in process, in Swift with every bound
    ///     checked; false to refuse these formats. Default: true.
    /// - Returns: the decoders.
    public static func isolated(
        _ decoder: IsolatedDecoder = IsolatedDecoder(), includesSwiftDecoders: Bool = true
    ) -> [any ImageDecoding] {
        let inProcess: [any ImageDecoding] = [GIFDecoder(), BMPDecoder(), ICODecoder(), XBMDecoder(), TIFFDecoder()]
        return (includesSwiftDecoders ? inProcess : []) + [decoder]
    }
}
#endif
