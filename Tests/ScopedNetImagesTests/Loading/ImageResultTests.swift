import CleanSlate
import FoundationEssentials
import HTTPTypes
import Persistence
import ScopedNet
import ScopedNetTesting
import Testing

@testable import ScopedNetImages

/// Pictures that are kept as they were made, in the response cache.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageResultTests {
    private let folder = TemporaryFolder()
    private let thumbnail = ImageRequest("a.bmp", size: PixelSize(8, 8))

    /// Two programs, one after the other, on one folder.
    private func inTwoLives(
        _ encoder: any ImageEncoding = BitmapEncoder(), fields: [HTTPField.Name: String] = [.cacheControl: "max-age=60", .eTag: "\"1\""],
        first: ImageRequest, then second: ImageRequest, accounts: (String, String) = ("", "")
    ) async throws -> (response: ImageResponse, decodings: Int, transfers: Int) {
        let decoder = CountingDecoder()
        var (responses, transfers) = ([ImageResponse](), 0)
        for (request, account) in [(first, accounts.0), (second, accounts.1)] {
            let cache = folder.cache()
            let test = ImageLoading(cache: cache) { configuration in
                configuration.resultEncoder = encoder
                configuration.decoders.append(decoder)
            }
            test.images.identity = account
            test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 64), fields))
            responses.append(try await test.images.response(request))
            while test.images.unfinishedResults > 0 { await Task.yield() }
            transfers += test.mock.exchanges.count
            await test.end()
            await cache.store.close()
        }
        return (responses[1], decoder.decodings, transfers)
    }

    @Test func aThumbnailIsReadAndNotMadeAgain() async throws {
        let (response, decodings, transfers) = try await inTwoLives(first: thumbnail, then: thumbnail)
        #expect(response.source == .result && response.image.width == 8 && ImageLoading.red(response.image) == 200)
        // That of the file, and that of the result.
        #expect(decodings == 2 && transfers == 1)
    }

    @Test func theScaleIsThatOfTheRequest() async throws {
        var request = thumbnail
        request.scale = 2
        let (response, _, _) = try await inTwoLives(first: request, then: request)
        #expect(response.source == .result && response.image.scale == 2)
    }

    @Test(arguments: ["size", "mode", "processor", "account", "fields", "policy"])
    func anotherPictureIsAnotherResult(difference: String) async throws {
        var other = thumbnail
        var accounts = ("", "")
        switch difference {
        case "size": other.size = PixelSize(9, 9)
        case "mode": other.mode = .fill
        case "processor": other.processors = [.circle]
        case "account": accounts = ("ann", "bob")
        case "fields": other.headers = ["X-Other": "1"]
        default: other.cache = .revalidate
        }
        let (response, _, transfers) = try await inTwoLives(first: thumbnail, then: other, accounts: accounts)
        #expect(response.source != .result)
        #expect(transfers == (difference == "account" || difference == "policy" ? 2 : 1))
    }

    /// A result is as fresh as its file, and as secret.
    @Test(arguments: ["no-store", "no-cache", "max-age=0"]) func aFileThatIsNotFreshHasNoResult(control: String) async throws {
        let (response, _, transfers) = try await inTwoLives(fields: [.cacheControl: control], first: thumbnail, then: thumbnail)
        #expect(response.source != .result && transfers == 2)
    }

    /// The picture of a file as it is would be stored twice.
    @Test func aPictureInItsOwnSizeHasNone() async throws {
        let (response, _, transfers) = try await inTwoLives(first: "a.bmp", then: "a.bmp")
        #expect(response.source == .file(.cache) && transfers == 1)
        #expect(response.file?.header.width == 64 && response.file?.byteCount == ImageLoading.bitmap(64, 64).count)
    }

    @Test(arguments: [BrokenEncoder.Fault.throwing, .damaged, .otherFormat])
    func whatCannotBeReadIsMadeAgain(fault: BrokenEncoder.Fault) async throws {
        let (response, _, transfers) = try await inTwoLives(BrokenEncoder(fault: fault), first: thumbnail, then: thumbnail)
        #expect(response.source == .file(.cache) && ImageLoading.red(response.image) == 200 && transfers == 1)
    }

    /// Another version of the file, or none, is the end of its results.
    @Test(arguments: ["refreshed", "removed", "partition removed"]) func aResultGoesWithItsFile(how: String) async throws {
        let cache = folder.cache()
        let test = ImageLoading(cache: cache) { $0.resultEncoder = BitmapEncoder() }
        test.images.identity = "ann"
        let replies = [1, 2].map {
            ImageLoading.reply(ImageLoading.bitmap(64, 64, red: $0), [.cacheControl: "max-age=60", .eTag: "\"\($0)\""])
        }
        test.mock.on("a.bmp", replies)
        _ = try await test.images.response(thumbnail)
        while test.images.unfinishedResults > 0 { await Task.yield() }
        test.images.removeAll()
        #expect(try await test.images.response(thumbnail).source == .result)
        switch how {
        case "refreshed":
            var request = ImageRequest("a.bmp")
            request.cache = .revalidate
            _ = try await test.images.image(request)
        case "removed": cache.removeAll()
        default: cache.removeAll(in: "ann")
        }
        test.images.removeAll()
        let response = try await test.images.response(thumbnail)
        #expect(response.source == .file(how == "refreshed" ? .cache : .network) && ImageLoading.red(response.image) == 2)
        while test.images.unfinishedResults > 0 { await Task.yield() }
        await test.end()
    }

    /// Deleted on the server: a list must not go on showing it.
    @Test func aPictureThatIsGoneIsNotInMemory() async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", [ImageLoading.reply(ImageLoading.bitmap(), [.cacheControl: "no-cache"]), .status(410)])
        _ = try await test.images.image("a.bmp")
        #expect(test.images.cached("a.bmp") != nil)
        await #expect(throws: ImageLoadError.self) { try await test.images.image("a.bmp") }
        #expect(test.images.cached("a.bmp") == nil)
        await test.end()
    }

    @Test func memoryTellsOfTheFile() async throws {
        let test = ImageLoading()
        test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap(64, 32)))
        #expect(try await test.images.response(thumbnail).source == .file(.network))
        let seen = ImageLog()
        let receipt = test.images.load(thumbnail).onResponse { seen.add("\($0.source) \($0.file?.header.width ?? 0)") }.start()
        await test.session.agent.waitUntilIdle()
        #expect(seen.all == ["memory 64"] && !receipt.isRunning)
        await test.end()
    }

    #if Images
    @Test(arguments: [PNGEncoder() as any ImageEncoding, WebPEncoder(), JPEGEncoder()]) func theCodecsOfTheLibraryServe(
        encoder: any ImageEncoding
    ) async throws {
        let (response, _, _) = try await inTwoLives(encoder, first: thumbnail, then: thumbnail)
        #expect(response.source == .result && abs(Int(ImageLoading.red(response.image)) - 200) < 8)
    }
    #endif
}

struct BrokenEncoder: ImageEncoding {
    enum Fault: Sendable { case throwing, damaged, otherFormat }
    let format = ImageFormat.bmp
    let fault: Fault

    func encode(_ image: DecodedImage) throws -> Data {
        switch fault {
        case .throwing: throw ImageError.unknownFormat
        case .damaged: ImageLoading.bitmap(8, 8).prefix(60)
        case .otherFormat: Data("GIF89a".utf8)
        }
    }
}
