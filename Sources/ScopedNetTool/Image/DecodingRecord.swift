import FoundationEssentials
import ScopedNetImages
import SystemSupport

/// The file that a loader has decoded: its bytes, its header, and the time that decoding took.
final class DecodingRecord: Sendable {
    struct File: Sendable {
        let data: Data
        let header: ImageHeader
        var decoding = Duration.zero
    }

    private let last = Lock<File?>(nil)

    /// Nil where nothing was decoded.
    var file: File? { last.withLock { $0 } }

    /// The decoders of the library, each of which keeps its file here.
    var decoders: [any ImageDecoding] { [any ImageDecoding].standard.map { RecordingDecoder($0, self) } }

    fileprivate func set(_ file: File) { last.withLock { $0 = file } }
}

/// A decoder that does the work of another one, and keeps a record of it.
private struct RecordingDecoder: CancellableImageDecoding {
    let formats: Set<ImageFormat>
    private let decoder: any ImageDecoding
    private let record: DecodingRecord

    init(_ decoder: any ImageDecoding, _ record: DecodingRecord) {
        (formats, self.decoder, self.record) = (decoder.formats, decoder, record)
    }

    func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage {
        var file = DecodingRecord.File(data: data, header: header)
        let start = ContinuousClock.now
        let image: DecodedImage
        if let decoder = decoder as? any CancellableImageDecoding {
            image = try decoder.decode(data, header: header, options: options, cancellation: cancellation)
        } else {
            image = try decoder.decode(data, header: header, options: options)
        }
        file.decoding = .now - start
        record.set(file)
        return image
    }
}
