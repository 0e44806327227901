import FoundationEssentials

/// The decoders of a loader, by the format that they read. (pure)
struct ImageDecoders: Sendable {
    private let decoders: [ImageFormat: any ImageDecoding]

    /// Of several for one format the last one counts: what a program adds replaces what is there.
    init(_ list: [any ImageDecoding]) {
        var decoders: [ImageFormat: any ImageDecoding] = [:]
        for decoder in list { for format in decoder.formats { decoders[format] = decoder } }
        self.decoders = decoders
    }

    func decoder(for format: ImageFormat) throws(ImageError) -> any ImageDecoding {
        guard let decoder = decoders[format] else { throw .unsupported(format) }
        return decoder
    }

    /// The field `Accept` (RFC 9110 section 12.5.1): the formats that can be read, and anything else after them. A server that chooses by it must not
    /// send what nobody here can decode.
    var accept: String { (formats.map(\.mediaType) + ["*/*;q=0.1"]).joined(separator: ", ") }

    /// Previews are made in this process by libjpeg-turbo: not where another decoder was chosen for JPEGs, such as one in a process of its own.
    var makesPreviews: Bool {
        #if Images
        decoders[.jpeg] is JPEGDecoder
        #else
        false
        #endif
    }

    /// The formats that can be read, the smallest files first.
    var formats: [ImageFormat] {
        let best: [ImageFormat] = [.webP, .png, .jpeg, .gif]
        return best.filter { decoders[$0] != nil } + ImageFormat.allCases.filter { decoders[$0] != nil && !best.contains($0) }
    }
}

extension [any ImageDecoding] {
    /// The decoders of this library: GIF, BMP, ICO, XBM and TIFF; with the trait `Images` also JPEG, PNG and WebP.
    public static var standard: [any ImageDecoding] {
        var decoders: [any ImageDecoding] = [GIFDecoder(), BMPDecoder(), ICODecoder(), XBMDecoder(), TIFFDecoder()]
        #if Images
        // Icons hold PNGs, too.
        decoders += [JPEGDecoder(), PNGDecoder(), WebPDecoder(), ICODecoder(png: PNGDecoder())]
        #endif
        return decoders
    }
}
