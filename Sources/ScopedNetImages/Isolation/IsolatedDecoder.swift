#if Images
public import FoundationEssentials
import SystemSupport

/// JPEG, PNG and WebP pictures, decoded in a process of its own that has access to nothing else.
///
/// ```swift
/// let decoder = IsolatedDecoder()
/// try decoder.prepare()  // Optional: tells now that the helper is missing, and makes the first picture as fast as the others.
/// configuration.decoders = .isolated(decoder)
/// ```
///
/// A file that makes a codec crash, hang or misbehave costs its own picture, as an ``ImageIsolationError``. The pictures, the limits and
/// ``ImageError`` are those of ``JPEGDecoder``, ``PNGDecoder`` and ``WebPDecoder``.
///
/// ### The helper
/// The helper is the program `scopednet-decoder`, a product of this package, which is deployed along with yours. These paths are tried:
///
/// 1. ``Configuration/helperPath``. Where it is set, no other path is tried.
/// 2. The environment variable `SCOPEDNET_DECODER`, in the same way.
/// 3. `scopednet-decoder` in the folder of the running program.
/// 4. `scopednet-decoder` in the absolute folders of `PATH`.
///
/// Where there is none, decoding fails by ``ImageIsolationError/helperMissing(looked:)``. A picture is never decoded in process instead.
///
/// ### Isolation
/// The file is handed over as memory that nothing here reads again. The pixels come back in memory that is sealed, or is copied, before
/// they are looked at. The helper has no files and no network: a filter (seccomp) allows it some twenty system calls for memory, for its one socket and for its
/// end, and the kernel ends it at any other. Its address space, its processor time and its descriptors are limited.
///
/// Several threads may decode at a time, one picture in each helper. A helper waits for the next picture and ends with the last copy of
/// this value, or with the program. GIF, BMP, ICO, XBM and TIFF are decoded in Swift, with every bound checked, and stay in process, as
/// reading a header does. Previews of a JPEG that arrives (``JPEGPreviewer``) and ``AnimatedImage`` use the codecs in process.
public struct IsolatedDecoder: CancellableImageDecoding {
    /// The settings of an isolated decoder.
    public struct Configuration: Sendable, Hashable {
        /// The path of `scopednet-decoder`; nil to look for it. Default: nil.
        public var helperPath: String?
        /// The most helpers, and so pictures, at a time; at least 1. Default: 4.
        public var helpers = 4
        /// The most helpers that wait for the next picture. Each holds a megabyte or two of memory, up to four for the last file,
        /// and up to four for the last pixels. Default: 2.
        public var warmHelpers = 2
        /// The most time for one picture. The helper is ended then. Default: 10 seconds.
        public var deadline = Duration.seconds(10)
        /// The bytes of address space for each helper: code, file, pixels and the memory of the codec. Default: 1 GiB.
        public var addressSpace = 1 << 30
        /// The pictures after which a helper is replaced by a fresh one; at least 1. With 1 no picture can have an effect on another.
        /// Default: 500.
        public var picturesPerHelper = 500
        /// A fault that helpers for tests simulate.
        var misbehavior: UInt64 = 0

        /// Makes the default settings.
        public init() {}
    }

    /// The formats that it reads.
    public let formats: Set<ImageFormat> = [.jpeg, .png, .webP]

    let pool: HelperPool
    private let misbehavior: UInt64

    /// Makes a decoder. Copies of it share their helpers; none is started yet.
    public init(_ configuration: Configuration = Configuration()) {
        pool = HelperPool(configuration)
        misbehavior = configuration.misbehavior
    }

    /// Makes a decoder with the helpers of another one; for tests.
    init(pool: HelperPool) { (self.pool, misbehavior) = (pool, 0) }

    /// Starts a helper ahead of the first picture, and has it decode a pixel. Blocks for some milliseconds.
    ///
    /// - Throws: ``ImageIsolationError``: `helperMissing` for example, or `helperUnusable` where it cannot restrict itself here.
    public func prepare() throws(ImageIsolationError) {
        do {
            let picture = Data(Self.pixel)
            guard case .header(let header) = try ImageHeader.read(picture, isComplete: true) else { return }
            _ = try decode(picture, header: header, options: ImageDecodingOptions(), cancellation: nil)
        } catch let error as ImageIsolationError {
            throw error
        } catch {
            throw .protocolError("it does not decode one pixel: \(error)")
        }
    }

    /// A PNG of one pixel.
    private static let pixel: [UInt8] = [
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x01,
        0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41,
        0x54, 0x08, 0xd7, 0x63, 0xe0, 0x3a, 0x11, 0x05, 0x00, 0x02, 0x0c, 0x01, 0x2d, 0x10, 0x8c, 0x46, 0xf6, 0x00, 0x00, 0x00,
        0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    ]

    /// Ends the helpers that wait for a picture, to give back their memory. The next picture starts one.
    public func endIdleHelpers() { pool.endIdle() }

    /// Makes the picture; see ``CancellableImageDecoding/decode(_:header:options:cancellation:)``.
    ///
    /// The thread waits meanwhile. A cancellation is noticed within 10 ms, and ends the helper.
    ///
    /// - Throws: ``ImageError``, ``ImageIsolationError``, or `CancellationError`.
    public func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage {
        if cancellation?.isCancelled == true { throw CancellationError() }
        let plan = try IsolationPlan(data, header, options)
        var request = plan.request
        request.flags = misbehavior
        do {
            let buffer = try pool.decode(request, file: data, cancellation) { try plan.check($0) }
            return DecodedImage(width: request.output.width, height: request.output.height, buffer: buffer)
        } catch let error as SystemFailure {
            throw ImageIsolationError.noResources("\(error)")
        }
    }
}
#endif
