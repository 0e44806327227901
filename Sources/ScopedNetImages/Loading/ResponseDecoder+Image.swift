public import ScopedNet

extension ResponseDecoder where Value == DecodedImage {
    /// Makes the picture of a response, in its own size: `session.get("logo.png", decoder: .image)`.
    ///
    /// For one picture among other requests. Pages that show many want an ``ImageLoader``, which shares transfers and keeps pictures.
    public static var image: ResponseDecoder<DecodedImage> { image() }

    /// Makes the picture of a response. It is decoded, turned upright and resized off the threads of the program, before the success.
    ///
    /// The media types are those that AFNetworking's image serializer takes, those of the formats that the decoders read with their older names, and
    /// `application/octet-stream`, as buckets of files say; another type fails with `unacceptableContentType`. The bytes decide about the format.
    ///
    /// - Parameters:
    ///   - size: the size in which it is shown, in pixels. Default: that of the file.
    ///   - mode: the relation of the picture to `size`. Default: it fits within.
    ///   - scale: pixels for each point of the screen it is made for. Default: 1.
    ///   - decoders: one for each format. Default: those of this library.
    ///   - limits: the most that the picture may ask of the machine. Default: 40 million pixels.
    /// - Returns: the decoder. It throws ``ImageError``, which is the `underlying` error of `decodingFailed`.
    public static func image(
        size: PixelSize? = nil, mode: ImageProcessors.Resize.Mode = .fit, scale: Double = 1, decoders: [any ImageDecoding] = .standard,
        limits: ImageLimits = .standard
    ) -> ResponseDecoder<DecodedImage> {
        var request = ImageRequest("", size: size, mode: mode)
        request.scale = scale
        let maker = ImageMaker(decoders: ImageDecoders(decoders), limits: limits)
        return ResponseDecoder(accepting: maker.decoders.mediaTypes) { [request] _, data in
            guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else {
                throw ImageError.unknownFormat
            }
            return try maker.make(data, header, for: request, DecodingCancellation())
        }
    }
}

extension ImageDecoders {
    /// The media types of what can be read, with the names that servers have given to some of them.
    var mediaTypes: [String] {
        let others: [ImageFormat: [String]] = [
            .ico: ["image/ico", "image/x-icon"], .bmp: ["image/x-bmp", "image/x-win-bitmap", "image/x-ms-bmp"], .xbm: ["image/xbm"],
            .jpeg: ["image/jpg", "image/pjpeg"], .png: ["image/x-png"],
        ]
        // Of buckets of files that nobody has described: the bytes decide.
        let unknown = ["application/octet-stream", "binary/octet-stream"]
        return formats.flatMap { format in [format.mediaType] + (others[format] ?? []) } + unknown
    }
}
