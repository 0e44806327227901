public import FoundationEssentials

extension AnimatedImage {
    /// Reads the places of all frames, and makes none.
    ///
    /// - Parameters:
    ///   - data: a GIF; with the trait `Images` also an animated WebP.
    ///   - limits: the most pixels, frames and bytes.
    ///   - windowBytes: the bytes of frames that are kept. Default: 8 MiB.
    /// - Throws: ``ImageError``; `unsupported` for other formats.
    public convenience init(_ data: Data, limits: ImageLimits = .standard, windowBytes: Int = 8 << 20) throws(ImageError) {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else { throw .unknownFormat }
        try limits.check(header)
        switch header.format {
        case .gif: self.init(try GIFFrames(data, limits: limits), limits: limits, windowBytes: windowBytes)
        #if Images
        case .webP: self.init(try WebPFrames(data, header, limits: limits), limits: limits, windowBytes: windowBytes)
        #endif
        default: throw .unsupported(header.format)
        }
    }
}
