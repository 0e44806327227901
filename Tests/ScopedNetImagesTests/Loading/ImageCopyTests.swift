import CleanSlate
import FoundationEssentials
import Glibc
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// The copies of a stored file, from the disk to its decoder.
@Suite(.leavesNothing, .timeLimit(.minutes(3))) struct ImageCopyTests {
    private static let isMemoryPlain = dlsym(nil, "__tsan_init") == nil && dlsym(nil, "__asan_init") == nil

    /// The forms in which a store keeps a body.
    enum Form: String, CaseIterable, Codable, Sendable {
        case row, file

        /// A file is read into one buffer. SQLite puts a row together from its pages in a buffer of its own, and one copy is made of that.
        var buffers: Int { self == .row ? 2 : 1 }
    }

    /// A process counts the buffers of the size of a body that are written to, until the decoder has one: by page faults, as each of them is fresh memory.
    @Test(.enabled(if: isMemoryPlain, "a sanitizer has pages of its own"), arguments: Form.allCases)
    func aStoredFileIsCopiedOnceAtMost(form: Form) async {
        await #expect(processExitsWith: .success) { [form = form as Form] in
            let count = try await CountedBody(form).buffers()
            // For the report of a failure: 101 for one.
            exit(count == form.buffers ? 0 : Int32(clamping: 100 + count))
        }
    }

    /// A thumbnail that was made before is found by what the store knows of its file, without reading that: by the bytes that the process reads.
    @Test func aResultIsFoundWithoutReadingItsFile() async {
        await #expect(processExitsWith: .success) {
            let folder = TemporaryFolder()
            let picture = ImageLoading.bitmap(40, 30)
            let file = picture + Data(count: (8 << 20) - picture.count)
            var readBytes: [Int] = []
            for _ in 0..<2 {
                let cache = folder.cache { $0.limits.memoryBytes = 0 }
                let test = ImageLoading(cache: cache) { $0.resultEncoder = BitmapEncoder() }
                test.mock.on("a.bmp", ImageLoading.reply(file, [.cacheControl: "max-age=60", .eTag: "\"1\""]))
                _ = await cache.store.opened()
                let start = Self.readBytes()
                let source = try await test.images.response(ImageRequest("a.bmp", size: PixelSize(8, 8))).source
                readBytes.append(source == .result ? Self.readBytes() - start : -1)
                while test.images.unfinishedResults > 0 { await Task.yield() }
                await test.end()
                try await cache.flush()
                await cache.store.close()
            }
            exit(readBytes[0] == -1 && (0..<1 << 20).contains(readBytes[1]) ? 0 : 1)
        }
    }

    /// The bytes that this process has read by system calls (proc(5), `rchar`).
    private static func readBytes() -> Int {
        let text = FileManager.default.contents(atPath: "/proc/self/io").map { String(decoding: $0, as: UTF8.self) } ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("rchar: ") }
        return line.flatMap { Int($0.dropFirst(7)) } ?? 0
    }

    /// Each decoder is handed the bytes that the store holds in memory.
    @Test func decodersShareTheMemoryOfTheStore() async throws {
        let folder = TemporaryFolder()
        let data = ImageLoading.bitmap(80, 80)
        for isStored in [false, true] {
            let decoder = NotingDecoder()
            let cache = folder.cache()
            let test = ImageLoading(cache: cache) { $0.decoders.append(decoder) }
            if !isStored { test.mock.on("a.bmp", ImageLoading.reply(data)) }
            for size in isStored ? [nil, PixelSize(8, 8), PixelSize(40, 40)] : [nil] {
                test.images.removeAll()
                _ = try await test.images.image(ImageRequest("a.bmp", size: size))
            }
            if isStored {
                #expect(decoder.notes.count == 3 && Set(decoder.notes.map(\.address)).count == 1)
                #expect(decoder.notes.allSatisfy { $0.count == data.count } && test.mock.exchanges.isEmpty)
            }
            await test.end()
            await cache.store.close()
        }
    }
}

/// A body so large that the memory of each of its copies comes from the kernel and goes back there (mallopt(3), M_MMAP_THRESHOLD: from 32 MiB on always), so
/// that writing to it costs a fault for each page. A copy that is made here says how many that are.
private struct CountedBody {
    private static let size = 40 << 20
    private let form: ImageCopyTests.Form
    private let folder = TemporaryFolder()

    init(_ form: ImageCopyTests.Form) { self.form = form }

    func buffers() async throws -> Int {
        _ = try await load { test in
            let file = ImageLoading.bitmap(4, 3) + Data(count: Self.size - ImageLoading.bitmap(4, 3).count)
            test.mock.on("a.bmp", ImageLoading.reply(file))
        }
        let unit = Self.faultsOfACopy()
        let faults = try await load { _ in }
        return (faults + unit / 2) / unit
    }

    /// Loads the picture in a session of its own.
    ///
    /// - Returns: the page faults of this process, until the file was decoded.
    private func load(_ prepare: (ImageLoading) -> Void) async throws -> Int {
        let cache = folder.cache { configuration in
            configuration.limits.inlineBodyBytes = form == .row ? 64 << 20 : 4 << 10
            configuration.limits.bodyBytes = 64 << 20
            configuration.limits.pendingBytes = 256 << 20
            // No copy is held, and sums over so many bytes take time in a debug build.
            configuration.limits.memoryBytes = 0
            configuration.limits.readTimeout = .seconds(60)
        }
        let decoder = NotingDecoder()
        let test = ImageLoading(cache: cache) { configuration in
            configuration.decoders.append(decoder)
            configuration.limits.bodyBytes = 64 << 20
        }
        prepare(test)
        _ = await cache.store.opened()
        let start = Self.faults()
        _ = try await test.images.image("a.bmp")
        guard let note = decoder.notes.first, note.count == Self.size else { throw ImageError.unknownFormat }
        await test.end()
        try await cache.flush()
        await cache.store.close()
        return note.faults - start
    }

    private static func faultsOfACopy() -> Int {
        let bytes = [UInt8](repeating: 1, count: size)
        let start = faults()
        let copy = Data(bytes)
        let count = faults() - start
        return withExtendedLifetime(copy) { max(1, count) }
    }

    fileprivate static func faults() -> Int {
        var usage = rusage()
        // RUSAGE_SELF: all threads of the process.
        getrusage(__rusage_who_t(0), &usage)
        return usage.ru_minflt
    }
}

/// Notes the memory that it is given.
private final class NotingDecoder: ImageDecoding {
    struct Note: Sendable {
        let address: UInt
        let count: Int
        /// Of the process, so far.
        let faults: Int
    }

    let formats: Set<ImageFormat> = [.bmp]
    private let all = Lock<[Note]>([])

    var notes: [Note] { all.withLock { $0 } }

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        let faults = CountedBody.faults()
        let address = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        all.withLock { $0.append(Note(address: address, count: data.count, faults: faults)) }
        return try DecodedImage(width: header.width, height: header.height) { _ in }
    }
}
