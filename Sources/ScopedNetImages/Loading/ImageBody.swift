import FoundationEssentials
import ScopedNet

/// The file of a picture, as it came.
struct ImageBody: Sendable {
    let data: Data
    let header: ImageHeader
    let source: ResponseSource
    /// Names this version of the file: two with the same one have the same bytes.
    let validator: String?
    /// For how long a picture of it may stay in memory.
    let keeping: Keeping
    /// Its place among the files that are held at a time, until its pictures are made.
    private let lease: Permits.Lease

    /// The response for a picture that was made of it.
    func response(_ image: DecodedImage) -> ImageResponse {
        ImageResponse(image: image, source: .file(source), file: ImageResponse.File(header: header, byteCount: data.count))
    }

    enum Keeping: Sendable, Equatable {
        /// The response came with `no-store`.
        case never
        case until(ContinuousClock.Instant)
    }

    init(_ data: Data, from response: Response<Data>, limits: ImageLimits, _ lease: Permits.Lease) throws(ImageError) {
        guard case .header(let header) = try ImageHeader.read(data, isComplete: true, limits: limits) else { throw .unknownFormat }
        try limits.checkFile(header)
        (self.data, self.header, source, self.lease) = (data, header, response.source, lease)
        validator = response.headers[.eTag] ?? response.headers[.lastModified]
        switch response.keeping {
        case .never: keeping = .never
        // Clocks of the monotonic kind end somewhere: a day is as good as a year for what memory holds.
        case .fresh(let seconds): keeping = .until(.now + .seconds(min(seconds, 86_400)))
        }
    }
}

extension ImageLimits {
    /// Judges what no size that is wanted changes.
    func checkFile(_ header: ImageHeader) throws(ImageError) { try check(header, target: (1, 1)) }
}
