import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import Persistence
@testable import ScopedNetImages

/// Pictures whose results find no space on the disk.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageFullDiskTests {
    private let folder = TemporaryFolder()
    private let thumbnail = ImageRequest("a.bmp", size: PixelSize(64, 64))

    private func loading(_ cache: ResponseCache) -> ImageLoading {
        let test = ImageLoading(cache: cache) { $0.resultEncoder = BitmapEncoder() }
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(128, 128), [.cacheControl: "max-age=600", .eTag: "\"1\""]))
        return test
    }

    /// Loads the thumbnail, from the disk where it is there, and waits until its result is stored or will never be.
    private func source(_ test: ImageLoading) async throws -> ImageResponse.Source {
        test.images.removeAll()
        let response = try await test.images.response(thumbnail)
        #expect(response.image.width == 64 && ImageLoading.red(response.image) == 200)
        await eventually(within: .seconds(60)) { test.images.unfinishedResults == 0 }
        return response.source
    }

    /// The database takes no page more, which SQLite answers as it does where the disk takes none: by `SQLITE_FULL`.
    private func fill(_ cache: ResponseCache) async throws {
        try await cache.flush()
        try await cache.store.writing { (database) throws(DatabaseFailure) in
            try database.connections.write { try $0.run("PRAGMA max_page_count = 1") }
        }
    }

    /// The picture is shown, and comes again: from what memory has of the disk, where that may have anything, else from the server. With space on the disk
    /// it is stored.
    @Test(arguments: [0, 32 << 20]) func aResultWithoutRoomOnTheDisk(memoryBytes: Int) async throws {
        let events = Lock<[StoreEvent]>([])
        let cache = folder.cache { configuration in
            configuration.limits.memoryBytes = memoryBytes
            configuration.onEvent = { event in events.withLock { $0.append(event) } }
        }
        let test = loading(cache)
        // The file alone is stored: in its own size the picture has no result.
        _ = try await test.images.image("a.bmp")
        try await fill(cache)
        #expect(try await source(test) == .file(.cache))
        // Written now, and refused.
        await #expect(throws: StoreError.self) { try await cache.flush() }
        let told = events.withLock { $0 }
        #expect(told.contains(.lostDisk(reason: "the disk is full")), "\(told)")
        let again = try await source(test)
        if memoryBytes > 0 { #expect(test.mock.exchanges.count == 1 && again != .memory) }
        #expect(test.images.activity.isIdle && test.images.waiterCount == 0)
        await test.end()
        await cache.store.close()
        try await loadWithRoom()
    }

    /// The next program, whose database may grow.
    private func loadWithRoom() async throws {
        let cache = folder.cache()
        let test = loading(cache)
        _ = try await source(test)
        #expect(try await source(test) == .result)
        await test.end()
        await cache.store.close()
    }
}
