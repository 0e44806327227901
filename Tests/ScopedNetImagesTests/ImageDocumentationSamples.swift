import Foundation
import ScopedNet
import ScopedNetImages

// The Swift samples of ScopedNetImages.docc, word for word; `ImageDocumentationTests` compares them with the articles.

// MARK: ScopedNetImages.md

func makeImages() -> ImageLoader {
    var configuration = Session.Configuration()
    configuration.cache = ResponseCache(named: "com.example.photos")
    return ImageLoader(Session(configuration: configuration))
}

func firstPhoto(_ images: ImageLoader) async throws -> DecodedImage {
    try await images.image(ImageRequest("https://example.com/photos/1", size: PixelSize(320, 240), mode: .fill))
}

// MARK: LoadingImages.md

/// One loader for each session, with bounds of its own.
func makeImages(for session: Session) -> ImageLoader {
    var configuration = ImageLoader.Configuration()
    configuration.memory = ImageMemoryCache(capacity: 64 << 20, preferredUsage: 40 << 20)
    configuration.transfersAtOnce = 6
    configuration.order = .lastInFirstOut
    return ImageLoader(session, configuration: configuration)
}

@MainActor
final class PhotoRow {
    private(set) var picture: DecodedImage?
    private(set) var caption = ""
    private var receipt: ImageReceipt?

    func show(_ url: String, from images: ImageLoader) {
        let request = ImageRequest(url, size: PixelSize(points: 160, 120, scale: 2), mode: .fill)
        picture = images.cached(request)
        receipt = images.load(request)
            .onPreview(for: self) { row, image in row.picture = image }
            .onSuccess(for: self) { row, image in row.picture = image }
            .onFailure(for: self) { row, error in row.caption = "\(error)" }
            .start()
    }

    func becameVisible() { receipt?.setPriority(.high) }

    func prepareForReuse() {
        receipt = nil
        picture = nil
    }
}

@MainActor
final class PhotoPage: RequestOwner {
    nonisolated let deallocBag = DeallocBag()
    private(set) var photo: DecodedImage?
    private(set) var message = ""
    private(set) var isLoading = false

    func open(_ id: Int, from images: ImageLoader) {
        isLoading = true
        images.load(ImageRequest("photos/\(id)", size: PixelSize(1_280, 960), priority: .high))
            .onProgress(for: self) { page, progress in page.message = "\(progress.completed) bytes" }
            .onSuccess(for: self) { page, image in page.photo = image }
            .onFailure(for: self) { page, error in page.message = "\(error)" }
            .onEnd(for: self) { page, _ in page.isLoading = false }
            .start(in: deallocBag)
    }
}

@MainActor
final class PhotoList {
    private var ahead: ImagePrefetch?

    func scrolled(to row: Int, of urls: [String], _ images: ImageLoader) {
        let next = urls.dropFirst(row).prefix(20).map { ImageRequest($0, size: PixelSize(320, 240), mode: .fill) }
        ahead = images.prefetch(Array(next), to: .memory)
    }
}

func avatar(of user: Int) -> ImageRequest {
    let size = PixelSize(96, 96)
    return ImageRequest("users/\(user)/avatar", size: size, mode: .fill, processors: [.cropToFill(size), .circle])
}

/// Shades of grey, of any size.
struct Greyscale: ImageProcessing {
    let identifier = "greyscale"

    func process(_ image: DecodedImage, limits: ImageLimits) throws -> DecodedImage {
        try DecodedImage(
            width: image.width, height: image.height, isPremultiplied: image.isPremultiplied, scale: image.scale, limits: limits
        ) { result in
            image.withPixels { pixels in
                for place in stride(from: 0, to: pixels.count, by: 4) {
                    let sum = 54 * Int(pixels[place]) + 183 * Int(pixels[place + 1]) + 19 * Int(pixels[place + 2])
                    for color in 0..<3 { result[place + color] = UInt8(sum / 256) }
                    result[place + 3] = pixels[place + 3]
                }
            }
        }
    }
}

/// At login, with the name of the account, and at logout, with an empty one.
func changeAccount(to account: String, of images: ImageLoader) {
    images.identity = account
    images.removeAll()
}

#if Images
/// Thumbnails of a gallery, kept as small files beside the large ones.
func makeGallery(for session: Session) -> ImageLoader {
    var configuration = ImageLoader.Configuration()
    configuration.resultEncoder = WebPEncoder()
    return ImageLoader(session, configuration: configuration)
}

func makeIsolatedImages(_ session: Session) throws -> ImageLoader {
    let decoder = IsolatedDecoder()
    try decoder.prepare()
    var configuration = ImageLoader.Configuration()
    configuration.decoders = .isolated(decoder)
    return ImageLoader(session, configuration: configuration)
}
#endif

func play(_ file: Data, _ show: (DecodedImage) -> Void) async throws {
    let animation = try AnimatedImage(file)
    for index in 0..<animation.frameCount {
        show(try animation.frame(at: index))
        try await Task.sleep(for: animation.durations[index])
    }
}

func draw(_ image: DecodedImage, columns: Int, rows: Int) throws {
    let form = TerminalPicture.Capability.detect(environment: ProcessInfo.processInfo.environment)
    print(try TerminalPicture(image, columns: columns, rows: rows).text(for: form))
}

// MARK: UntrustedImages.md

func makeCarefulImages(_ session: Session) -> ImageLoader {
    var configuration = ImageLoader.Configuration()
    configuration.limits.bodyBytes = 8 << 20
    configuration.limits.pixels = 12_000_000
    configuration.limits.decodedBytes = 32 << 20
    configuration.limits.frames = 100
    return ImageLoader(session, configuration: configuration)
}

/// A sentence for a person; nil where there is nothing to tell.
func explanation(of error: ImageLoadError) -> String? {
    switch error {
    case _ where error.isCancelled: nil
    case .transfer(let error): error.localizedDescription
    case .image(.unsupported(let format)): "This program cannot show \(format.mediaType)."
    case .image(.exceeds): "The picture is too large."
    case .image: "The file is damaged, or no picture."
    default: "The picture could not be made."
    }
}

/// Judges a file that is there already, such as one that is about to be uploaded.
func check(_ file: Data) throws -> String {
    guard case .header(let header) = try ImageHeader.read(file, isComplete: true) else { return "" }
    return "\(header.format.mediaType), \(header.shownWidth) × \(header.shownHeight)"
}

/// Takes an uploaded picture apart, and makes a file of it that has pixels and nothing else: no place, no camera, no comments.
func cleaned(_ upload: Data, decoder: any ImageDecoding, encoder: any ImageEncoding) throws -> Data {
    guard case .header(let header) = try ImageHeader.read(upload, isComplete: true) else { throw ImageError.unknownFormat }
    let stored = try decoder.decode(upload, header: header, options: ImageDecodingOptions(size: PixelSize(2_048, 2_048)))
    return try encoder.encode(OrientationTransform(header.orientation).process(stored))
}

/// A decoder of one's own: a library that the program has already.
struct PhotoLibraryDecoder: ImageDecoding {
    let formats: Set<ImageFormat> = [.jpeg, .png]

    func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try DecodedImage(width: header.width, height: header.height, limits: options.limits) { pixels in
            guard fillPixels(pixels, of: data) else { throw ImageError.damaged(header.format, "the library cannot read it") }
        }
    }
}

func makeImagesWithOwnDecoder(_ session: Session) -> ImageLoader {
    var configuration = ImageLoader.Configuration()
    configuration.decoders.append(PhotoLibraryDecoder())
    return ImageLoader(session, configuration: configuration)
}

/// In place of a library of the reader's.
private func fillPixels(_ pixels: UnsafeMutableRawBufferPointer, of data: Data) -> Bool { data.isEmpty == pixels.isEmpty }

// MARK: FromOtherImageLibraries.md

@MainActor
final class AvatarView {
    private var receipt: ImageReceipt?
    private(set) var image: DecodedImage?

    /// In place of `imageView.af.setImage`, `loadImage(with:into:)` and `imageView.kf.setImage`.
    func setImage(_ url: String, from images: ImageLoader, placeholder: DecodedImage?) {
        let size = PixelSize(100, 100)
        let request = ImageRequest(url, size: size, mode: .fill, processors: [.cropToFill(size), .circle])
        image = images.cached(request) ?? placeholder
        receipt = images.load(request).onSuccess(for: self) { view, image in view.image = image }.start()
    }

    /// In place of `af.cancelImageRequest()`, `cancelRequest(for:)` and `kf.cancelDownloadTask()`.
    func cancel() { receipt = nil }
}

func withPriority(_ url: String, _ images: ImageLoader) async throws -> DecodedImage {
    let size = PixelSize(320, 240)
    return try await images.image(ImageRequest(url, size: size, mode: .fill, processors: [.blur(radius: 4)], priority: .high))
}

@MainActor
final class FeedController {
    private var ahead: ImagePrefetch?

    /// In place of the prefetchers of Nuke and Kingfisher.
    func startPrefetching(_ urls: [String], _ images: ImageLoader) { ahead = images.prefetch(urls.map { ImageRequest($0) }) }
    func stopPrefetching() { ahead = nil }
}

func ignoringCaches(_ url: String) -> ImageRequest {
    var request = ImageRequest(url)
    request.cache = .revalidate
    return request
}
