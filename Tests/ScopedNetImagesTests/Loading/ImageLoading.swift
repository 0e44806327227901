import CleanSlate
import FoundationEssentials
import Glibc
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import Synchronization
import SystemSupport

/// A loader over a mock transport, and the files that it loads.
struct ImageLoading {
    let session: Session
    let images: ImageLoader
    var mock: MockTransport { session.mock }

    init(
        unanswered: MockTransport.Unanswered = .wait, cache: ResponseCache? = nil,
        _ configure: (inout ImageLoader.Configuration) -> Void = { _ in }
    ) {
        session = MockTransport.session("http://images.test/", unanswered: unanswered) { $0.cache = cache }
        var configuration = ImageLoader.Configuration()
        configuration.relievesMemory = false
        configure(&configuration)
        images = ImageLoader(session, configuration: configuration)
    }

    /// A bitmap of 24 bits, every pixel of one colour.
    static func bitmap(_ width: Int = 4, _ height: Int = 3, red: UInt8 = 200) -> Data {
        let stride = (width * 3 + 3) / 4 * 4
        func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        var bytes = Array("BM".utf8) + four(54 + stride * height) + four(0) + four(54) + four(40) + four(width) + four(height)
        bytes += [1, 0, 24, 0] + four(0) + four(stride * height) + four(0) + four(0) + four(0) + four(0)
        var row = [UInt8](repeating: 0, count: stride)
        for column in 0..<width { row[column * 3 + 2] = red }
        for _ in 0..<height { bytes += row }
        return Data(bytes)
    }

    static func reply(_ data: Data, _ fields: [HTTPField.Name: String] = [.cacheControl: "max-age=60"]) -> MockReply {
        var reply = MockReply(body: data)
        for (name, value) in fields { reply.headers[name] = value }
        return reply
    }

    static func red(_ image: DecodedImage) -> UInt8 { image.withPixels { $0[0] } }

    func end() async {
        await session.agent.waitUntilIdle()
        await session.shutdown()
    }
}

/// A folder for a response cache, removed with its test.
final class TemporaryFolder: Sendable {
    private let path = "/tmp/scopednet-images-\(UInt64.random(in: 0 ... .max))"

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A cache in the folder, one at a time.
    func cache(_ change: (inout StoreConfiguration) -> Void = { _ in }, clock: @escaping @Sendable () -> WallTime = { .now })
        -> ResponseCache
    {
        var configuration = StoreConfiguration(directory: path)
        change(&configuration)
        return ResponseCache(configuration, clock: clock)
    }
}

extension ImageLoader.Activity {
    /// True where nothing runs and nothing waits.
    var isIdle: Bool { transfers + waitingTransfers + decodings + waitingDecodings == 0 }
}

/// Changes nothing, which takes a step.
struct BlankProcessor: ImageProcessing {
    let identifier = "blank"
    func process(_ image: DecodedImage, limits: ImageLimits) -> DecodedImage { image }
}

/// Bitmaps of the first pixel's colour.
struct BitmapEncoder: ImageEncoding {
    let format = ImageFormat.bmp
    func encode(_ image: DecodedImage) -> Data { ImageLoading.bitmap(image.width, image.height, red: ImageLoading.red(image)) }
}

/// The lines that closures write.
final class ImageLog: Sendable {
    private let lines = Lock<[String]>([])
    func add(_ line: String) { lines.withLock { $0.append(line) } }
    var all: [String] { lines.withLock { $0 } }
}

/// Counts decodings, and holds them up while a test wants so.
final class CountingDecoder: ImageDecoding {
    let formats: Set<ImageFormat> = [.bmp]
    private let count = Atomic<Int>(0)
    private let sizes = Lock<[PixelSize?]>([])

    var decodings: Int { count.load(ordering: .relaxed) }
    var wanted: [PixelSize?] { sizes.withLock { $0 } }

    /// The thread that decodes waits for this one.
    let isHeldUp = Lock(false)

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        while isHeldUp.withLock({ $0 }) { usleep(1_000) }
        count.add(1, ordering: .relaxed)
        sizes.withLock { $0.append(options.size) }
        return try BMPDecoder().decode(data, header: header, options: options)
    }
}
