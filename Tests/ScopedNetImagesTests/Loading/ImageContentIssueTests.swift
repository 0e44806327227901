import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetTesting
import SystemSupport
import Testing

@testable import ScopedNetImages

/// The complaints about memory, types, freshness and failures of other image libraries, by the numbers of their issues; each holds otherwise here.
@Suite(.leavesNothing, .noLeaks, .timeLimit(.minutes(3))) struct ImageContentIssueTests {
    private let folder = TemporaryFolder()

    // MARK: Sizes

    /// AFNetworking 1182 (12150 × 6075), SDWebImage 1072 (10000 × 10000), AlamofireImage 308: one huge picture ended the process. It is refused when its
    /// header is there, and the rest is not fetched.
    @Test(arguments: [PixelSize(12_150, 6_075), PixelSize(10_000, 10_000)], [nil, PixelSize(100, 100)])
    func aHugePictureIsRefusedByItsHeader(stored: PixelSize, size: PixelSize?) async {
        let decoder = CountingDecoder()
        let test = ImageLoading { $0.decoders.append(decoder) }
        let task = Task { try await test.images.image(ImageRequest("huge", size: size)) }
        await test.mock.waitForExchanges(1)
        let exchange = test.mock.exchanges[0]
        exchange.receiveHead(headers: [.contentLength: "20000000"])
        exchange.receive(ImageSamples.bmp(stored.width, stored.height))
        await #expect {
            try await task.value
        } throws: { error in
            guard case .image(.exceeds(.pixels, let actual, most: 40_000_000))? = error as? ImageLoadError else { return false }
            return actual == stored.width * stored.height
        }
        #expect(exchange.isCancelled && decoder.decodings == 0)
        await test.end()
    }

    #if Images
    /// AlamofireImage 72, 115, 332, SDWebImage 1212: photos in the cells of a list were inflated to their full size, until the process ended. A photo of
    /// 36 MB is made within 1 MiB where it is shown small, and kept as small.
    @Test func aPhotoTakesTheMemoryOfItsCell() async throws {
        let test = ImageLoading { $0.limits.decodedBytes = 1 << 20 }
        let file = try JPEGEncoder().encode(try DecodedImage(width: 3_000, height: 3_000) { _ in })
        test.mock.on("photo.jpg", ImageLoading.reply(file))
        let image = try await test.images.image(ImageRequest("photo.jpg", size: PixelSize(96, 96), mode: .fill))
        #expect(image.width == 96 && image.height == 96 && test.images.memory.usage == 96 * 96 * 4)
        await #expect {
            try await test.images.image("photo.jpg")
        } throws: { error in
            guard case .image(.exceeds(.decodedBytes, actual: 36_000_000, most: 1 << 20))? = error as? ImageLoadError else { return false }
            return true
        }
        await test.end()
    }
    #endif

    /// AFNetworking 2754, Nuke 64: 150 pictures at once took the memory of all of them, and of as many decodings. A few files are held at a time, fewer are
    /// decoded, and the pictures stay within the capacity.
    @Test func aPageOfManyPicturesIsBounded() async {
        let decoder = StormDecoder()
        let memory = ImageMemoryCache(capacity: 200_000, preferredUsage: 100_000)
        let test = ImageLoading(unanswered: .fail) {
            $0.decoders.append(decoder)
            $0.decodesAtOnce = 2
            $0.memory = memory
        }
        let file = ImageLoading.bitmap(64, 64)
        let (bag, log) = (DeallocBag(), ImageLog())
        for index in 0..<150 {
            test.mock.on("\(index)", ImageLoading.reply(file))
            test.images.load(ImageRequest("\(index)"))
                .onSuccess { [images = test.images] _ in
                    let isBounded = memory.usage <= 200_000 && images.arrivedBytes <= 8 * file.count
                    log.add(isBounded ? "bounded" : "\(memory.usage), \(images.arrivedBytes)")
                }
                .start(in: bag)
        }
        await bag.waitUntilIdle()
        #expect(log.all == Array(repeating: "bounded", count: 150))
        #expect(decoder.most <= 2 && memory.count < 13)
        await eventually(within: .seconds(60)) { decoder.liveCount == memory.count }
        await test.end()
    }

    /// Kingfisher 2543: each download was copied when it was complete, at the cost of its size. Decoders get one buffer, however many sizes are made of it.
    @Test func aFileIsNotCopied() async throws {
        let decoder = AddressDecoder()
        let test = ImageLoading { $0.decoders.append(decoder) }
        let (bag, log, data) = (DeallocBag(), ImageLog(), ImageLoading.bitmap(80, 80))
        for size in [nil, PixelSize(8, 8), PixelSize(40, 40)] {
            test.images.load(ImageRequest("a.bmp", size: size)).onProgress { log.add("\($0.completed)") }.start(in: bag)
        }
        await test.mock.waitForExchanges(1)
        await eventually(within: .seconds(60)) { test.images.fileWaiters == 3 }
        let exchange = test.mock.exchanges[0]
        exchange.receiveHead(headers: [.contentLength: "\(data.count)"])
        for start in stride(from: 0, to: data.count, by: 2_000) {
            exchange.receive(Data(data.dropFirst(start).prefix(2_000)))
            await eventually(within: .seconds(60)) { log.all.contains("\(min(data.count, start + 2_000))") }
        }
        exchange.finish()
        await bag.waitUntilIdle()
        #expect(decoder.all.count == 3 && Set(decoder.all).count == 1)
        await test.end()
    }

    /// AFNetworking 4010: pictures in full size pushed out the thumbnails, and both were downloaded again and again.
    @Test func aPictureInFullSizeLeavesTheThumbnails() async throws {
        let test = ImageLoading(unanswered: .fail) { $0.memory = ImageMemoryCache(capacity: 10_000, preferredUsage: 5_000) }
        for index in 0..<30 { test.mock.on("\(index)", ImageLoading.reply(ImageLoading.bitmap(64, 64))) }
        let thumbnails = (0..<30).map { ImageRequest("\($0)", size: PixelSize(8, 8)) }
        for thumbnail in thumbnails { _ = try await test.images.image(thumbnail) }
        for index in 0..<30 { #expect(try await test.images.image(ImageRequest("\(index)")).width == 64) }
        #expect(thumbnails.allSatisfy { test.images.cached($0)?.width == 8 } && test.images.memory.count == 30)
        await test.end()
    }

    /// SDWebImage 3021, 3515: twenty GIFs in a list held the frames of all of them. Each is its first frame; the others are made on demand.
    @Test func anAnimationInAListIsOneFrame() async throws {
        let test = ImageLoading(unanswered: .fail)
        let file = try DecoderTests.fixture("walk.gif")
        for index in 0..<20 {
            test.mock.on("\(index).gif", ImageLoading.reply(file))
            _ = try await test.images.image(ImageRequest("\(index).gif"))
        }
        #expect(test.images.memory.count == 20 && test.images.memory.usage == 20 * DecoderTests.width * DecoderTests.height * 4)
        await test.end()
    }

    // MARK: Freshness

    /// AFNetworking 2969, 3571, 3852: a picture that had changed on the server stayed the old one, in spite of a policy that ignores caches or of emptied ones,
    /// and one alone could not be removed.
    @Test(arguments: ["revalidate", "off", "all removed", "one removed"]) func aPictureThatHasChangedIsShown(how: String) async throws {
        let cache = folder.cache()
        let test = ImageLoading(cache: cache)
        let replies = [1, 2].map { ImageLoading.reply(ImageLoading.bitmap(red: $0), [.cacheControl: "max-age=600", .eTag: "\"\($0)\""]) }
        test.mock.on("a.bmp", replies)
        #expect(ImageLoading.red(try await test.images.image("a.bmp")) == 1)
        var request = ImageRequest("a.bmp")
        switch how {
        case "revalidate": request.cache = .revalidate
        case "off": request.cache = .off
        case "all removed": test.images.removeAll()
        default: #expect(test.images.memory.remove(ImageKey(url: "http://images.test/a.bmp")))
        }
        if how.hasSuffix("removed") { cache.removeAll() }
        #expect(ImageLoading.red(try await test.images.image(request)) == 2)
        // The others see it, too, or at least not the old one where nothing was to be stored.
        #expect(test.images.cached("a.bmp").map(ImageLoading.red) == (how == "off" ? nil : 2) && test.mock.exchanges.count == 2)
        await test.end()
    }

    /// AFNetworking 3852: pictures stayed in memory although nothing was to be stored.
    @Test func aPictureThatIsNotToBeStoredIsNotInMemory() async throws {
        let test = ImageLoading(unanswered: .fail)
        test.mock.on("a", ImageLoading.reply(ImageLoading.bitmap()))
        var request = ImageRequest("a")
        request.cache = .off
        _ = try await test.images.image(request)
        #expect(test.images.memory.count == 0)
        await test.end()
    }

    // MARK: Types

    /// AFNetworking 3223, 3326 (`image/jpg`), AlamofireImage 60 (`binary/octet-stream`): pictures with a type that is not listed failed. The bytes decide.
    @Test(arguments: ["image/jpg", "binary/octet-stream", "application/octet-stream", "text/plain", "image/webp", "nonsense", ""])
    func aTypeThatIsWrongIsNoReason(type: String) async throws {
        let test = ImageLoading(unanswered: .fail)
        test.mock.on("a", ImageLoading.reply(ImageLoading.bitmap(), type.isEmpty ? [:] : [.contentType: type]))
        #expect(try await test.images.image("a").width == 4)
        await test.end()
    }

    /// The same of a picture as the value of a request, where the type is a name of a picture or says nothing.
    @Test(arguments: ["image/x-ms-bmp", "binary/octet-stream", "application/octet-stream"]) func aTypeThatSaysNothingIsNoReason(
        type: String
    ) async throws {
        let test = ImageLoading(unanswered: .fail)
        test.mock.on("a", ImageLoading.reply(ImageLoading.bitmap(), [.contentType: type]))
        #expect(try await test.session.request("a", decoder: .image).value().width == 4)
        await test.end()
    }

    #if Images
    /// AFNetworking 2539, AlamofireImage 221: there was no WebP, by its type or at all.
    @Test func webPIsAPicture() async throws {
        let test = ImageLoading(unanswered: .fail)
        let file = try CodecSamples.file("lossy.webp")
        test.mock.on("a.webp", ImageLoading.reply(file, [.contentType: "image/webp"]))
        #expect(try await test.images.image("a.webp").width == CodecSamples.photo.width)
        #expect(try await test.session.request("a.webp", decoder: .image).value().width == CodecSamples.photo.width)
        await test.end()
    }
    #endif

    /// SDWebImage 1178: `Accept` promised WebP without a decoder for it, and a server that learned it broke all pictures. It is made of the decoders that are
    /// there.
    @Test func acceptPromisesNoMoreThanTheDecoders() async throws {
        for (decoders, accept) in [
            ([BMPDecoder()] as [any ImageDecoding], "image/bmp, */*;q=0.1"),
            ([BMPDecoder(), GIFDecoder()], "image/gif, image/bmp, */*;q=0.1"),
        ] {
            let test = ImageLoading(unanswered: .fail) { $0.decoders = decoders }
            test.mock.on("a.bmp", ImageLoading.reply(ImageLoading.bitmap()))
            _ = try await test.images.image("a.bmp")
            #expect(test.mock.exchanges[0].headers[.accept] == accept)
            await test.end()
        }
    }

    // MARK: Failures

    /// SDWebImage 465, 938, 1091, 1376 (offline), 3059: a URL that had failed once was black-listed for as long as the program ran. Each is asked for
    /// again, also where those are remembered that the server does not have.
    @Test(arguments: ["offline", "lost", "timeout", "500", "503", "damaged", "page", "404"])
    func aURLThatHasFailedComesWhenItCan(how: String) async throws {
        let test = ImageLoading(unanswered: .fail) { if how != "404" { $0.missingAge = .seconds(600) } }
        let failures: [String: MockReply] = [
            "offline": .failing(.nameNotResolved), "lost": .failing(.connectionLost), "timeout": .failing(.firstByteTimeout),
            "500": .status(500),
            "503": .status(503), "damaged": ImageLoading.reply(ImageLoading.bitmap().prefix(70), [.cacheControl: "no-store"]),
            "page": .ok("log in first"), "404": .status(404),
        ]
        let failure = try #require(failures[how])
        test.mock.on("a.bmp", [failure, failure, ImageLoading.reply(ImageLoading.bitmap())])
        for _ in 0..<2 { await #expect(throws: ImageLoadError.self) { try await test.images.image("a.bmp") } }
        #expect(try await test.images.image("a.bmp").width == 4)
        #expect(test.mock.exchanges.count == 3)
        await test.end()
    }
}

/// Notes the buffers that it is given.
private final class AddressDecoder: ImageDecoding {
    let formats: Set<ImageFormat> = [.bmp]
    private let addresses = Lock<[UInt]>([])

    var all: [UInt] { addresses.withLock { $0 } }

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        let address = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        addresses.withLock { $0.append(address) }
        return try BMPDecoder().decode(data, header: header, options: options)
    }
}
