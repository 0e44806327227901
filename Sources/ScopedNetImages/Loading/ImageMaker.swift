import FoundationEssentials

/// Makes the picture of a request of its file: decodes, resizes, turns it upright, and runs the processors. (pure)
struct ImageMaker: Sendable {
    let decoders: ImageDecoders
    let limits: ImageLimits

    func make(_ data: Data, _ header: ImageHeader, for request: ImageRequest, _ cancellation: DecodingCancellation) throws -> DecodedImage {
        let decoder = try decoders.decoder(for: header.format)
        let options = ImageDecodingOptions(size: decodeSize(header, request), limits: limits)
        let image: DecodedImage
        if let decoder = decoder as? any CancellableImageDecoding {
            image = try decoder.decode(data, header: header, options: options, cancellation: cancellation)
        } else {
            image = try decoder.decode(data, header: header, options: options)
        }
        return try finish(image, header, request, cancellation)
    }

    /// The steps behind decoding, for previews too.
    func finish(
        _ decoded: DecodedImage, _ header: ImageHeader, _ request: ImageRequest, _ cancellation: DecodingCancellation
    ) throws -> DecodedImage {
        var image = decoded
        // Small first: turning and processing cost by the pixel.
        if let size = request.size {
            let stored = header.orientation.swapsSides ? PixelSize(size.height, size.width) : size
            image = try ImageProcessors.Resize(stored, mode: request.mode, upscales: false).process(image, limits: limits)
        }
        image = try OrientationTransform(header.orientation).process(image, limits: limits)
        for processor in request.processors {
            if cancellation.isCancelled { throw CancellationError() }
            image = try processor.process(image, limits: limits)
        }
        return request.scale == 1 ? image : image.with(scale: request.scale)
    }

    /// The least size, as shown, that the steps behind decoding can do with.
    func decodeSize(_ header: ImageHeader, _ request: ImageRequest) -> PixelSize? {
        request.size?.minimumDecodeSize(stored: PixelSize(header.shownWidth, header.shownHeight), mode: request.mode)
    }
}
