import FoundationEssentials
import ScopedNet

/// Makes the picture of a request of its file: decodes, resizes, turns it upright, and runs the processors. (pure)
struct ImageMaker: Sendable {
    let decoders: ImageDecoders
    let limits: ImageLimits

    func make(
        _ data: Data, _ header: ImageHeader, for request: ImageRequest, _ cancellation: DecodingCancellation, number: UInt64 = 0
    ) throws -> DecodedImage {
        StepDoor.pass(.pictureDecoding, number)
        if cancellation.isCancelled { throw CancellationError() }
        return try finish(
            decode(data, header, size: decodeSize(header, request), cancellation), header, request, cancellation, number: number)
    }

    /// Decodes a picture that was made before, and is to be shown as it is.
    func read(_ data: Data, scale: Double, _ cancellation: DecodingCancellation, number: UInt64) throws -> DecodedImage {
        StepDoor.pass(.pictureDecoding, number)
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else {
            throw ImageError.unknownFormat
        }
        return try decode(data, header, size: nil, cancellation).with(scale: scale)
    }

    private func decode(
        _ data: Data, _ header: ImageHeader, size: PixelSize?, _ cancellation: DecodingCancellation
    ) throws -> DecodedImage {
        let decoder = try decoders.decoder(for: header.format)
        let options = ImageDecodingOptions(size: size, limits: limits)
        guard let decoder = decoder as? any CancellableImageDecoding else {
            return try decoder.decode(data, header: header, options: options)
        }
        return try decoder.decode(data, header: header, options: options, cancellation: cancellation)
    }

    /// The steps behind decoding, for previews too.
    func finish(
        _ decoded: DecodedImage, _ header: ImageHeader, _ request: ImageRequest, _ cancellation: DecodingCancellation, number: UInt64 = 0
    ) throws -> DecodedImage {
        var image = decoded
        // Small first: turning and processing cost by the pixel.
        if let size = request.size {
            let stored = header.orientation.swapsSides ? PixelSize(size.height, size.width) : size
            image = try ImageProcessors.Resize(stored, mode: request.mode, upscales: false).process(image, limits: limits)
        }
        image = try OrientationTransform(header.orientation).process(image, limits: limits)
        for processor in request.processors {
            StepDoor.pass(.pictureProcessing, number)
            if cancellation.isCancelled { throw CancellationError() }
            image = try processor.process(image, limits: limits)
        }
        return request.scale == 1 ? image : image.with(scale: request.scale)
    }

    /// The size to which previews are decoded: of a large picture a quarter of its sides. Drawing one costs by the pixel, and a full one as much as a third
    /// of all the decoding; three of those would double it. Processors count in pixels, and get as many as those of the picture.
    func previewSize(_ header: ImageHeader, _ request: ImageRequest) -> PixelSize {
        let (width, height) = (header.shownWidth, header.shownHeight)
        let part = request.processors.isEmpty ? min(1, max(0.25, 640 / Double(max(1, width, height)))) : 1
        let most = PixelSize(width: Int((Double(width) * part).rounded(.up)), height: Int((Double(height) * part).rounded(.up)))
        guard let size = decodeSize(header, request), size.width <= most.width, size.height <= most.height else { return most }
        return size
    }

    /// True where the picture is as large as its previews, and comes of what was decoded for them.
    func sharesPreviews(_ header: ImageHeader, _ request: ImageRequest) -> Bool {
        previewSize(header, request) == decodeSize(header, request) ?? PixelSize(width: header.shownWidth, height: header.shownHeight)
    }

    /// The least size, as shown, that the steps behind decoding can do with.
    func decodeSize(_ header: ImageHeader, _ request: ImageRequest) -> PixelSize? {
        request.size?.minimumDecodeSize(stored: PixelSize(header.shownWidth, header.shownHeight), mode: request.mode)
    }
}
