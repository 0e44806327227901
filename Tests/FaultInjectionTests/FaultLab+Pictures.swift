import Foundation
import Persistence
import SystemSupport

@testable import ScopedNet
@testable import ScopedNetImages

/// A picture of the server.
struct FaultPicture: Sendable {
    let name: String
    /// In pixels.
    let width: Int
    /// Among the files of the tests of pictures; nil for a bitmap that is made here.
    var fixture: String?

    /// One of each kind of decoder: in Swift, and, with the trait, in the libraries of the system.
    static let all: [FaultPicture] = {
        var pictures = [FaultPicture(name: "a.bmp", width: 90), FaultPicture(name: "b.gif", width: 19, fixture: "palette.gif")]
        #if Images
        pictures.append(FaultPicture(name: "c.jpg", width: 37, fixture: "Codecs/progressive.jpg"))
        pictures.append(FaultPicture(name: "d.png", width: 19, fixture: "Codecs/png-6-8.png"))
        #endif
        return pictures
    }()

    func file() throws -> Data {
        guard let fixture else { return Self.bitmap(side: width) }
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try Data(contentsOf: tests.appending(path: "ScopedNetImagesTests/Fixtures/\(fixture)"))
    }

    /// A bitmap of 24 bits, every byte of its pixels the same.
    static func bitmap(side: Int, grey: UInt8 = 90) -> Data {
        let stride = (side * 3 + 3) / 4 * 4
        func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        let head = Array("BM".utf8) + four(54 + stride * side) + four(0) + four(54) + four(40) + four(side) + four(side) + [1, 0, 24, 0]
        return Data(head + [UInt8](repeating: 0, count: 24) + [UInt8](repeating: grey, count: stride * side))
    }
}

/// Bitmaps of the grey of the first pixel.
private struct GreyEncoder: ImageEncoding {
    let format = ImageFormat.bmp
    func encode(_ image: DecodedImage) -> Data { FaultPicture.bitmap(side: image.width, grey: image.withPixels { $0[0] }) }
}

/// The paths of pictures: each load gives its picture or a typed error, and the loader goes.
extension FaultLab {
    func walkPictures(_ settings: Session.Configuration) async throws(NetworkError) {
        guard setting.path == .storedPictures else { return try await show(settings, nil) }
        let folder = NSTemporaryDirectory() + "scopednet-faults-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The first life makes the results, and the second finds them or makes them again.
        for _ in 0..<2 { try await live(settings, folder) }
    }

    private func live(_ settings: Session.Configuration, _ folder: String) async throws(NetworkError) {
        var configuration = StoreConfiguration(directory: folder)
        // The bitmap is a file of the store, and the rest are rows.
        configuration.limits.inlineBodyBytes = 8 << 10
        let cache = ResponseCache(configuration)
        let outcome: Result<Void, NetworkError>
        do throws(NetworkError) {
            try await show(settings, cache)
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        await cache.store.close()
        try outcome.get()
    }

    private func show(_ settings: Session.Configuration, _ cache: ResponseCache?) async throws(NetworkError) {
        var settings = settings
        settings.cache = cache
        let session = Session(configuration: settings)
        weak var former: ImageLoader?
        let outcome: Result<Void, NetworkError>
        do {
            var configuration = ImageLoader.Configuration()
            configuration.resultEncoder = GreyEncoder()
            configuration.previewInterval = .zero
            let images = ImageLoader(session, configuration: configuration)
            former = images
            outcome = await loadAll(images)
            await expect("the loader is still busy: \(images.activity), \(images.unfinishedResults) results") { isIdle(images) }
        }
        await session.shutdown()
        await expect("the loader is still alive") { former == nil }
        try outcome.get()
    }

    /// A result is stored behind its load; one that cannot be stored is done with, too.
    private func isIdle(_ images: ImageLoader) -> Bool {
        let activity = images.activity
        let work = activity.transfers + activity.waitingTransfers + activity.decodings + activity.waitingDecodings
        return work + images.waiterCount + images.fileWaiters + images.unfinishedResults == 0
    }

    /// Waits for tasks that are on their way out.
    private func expect(_ problem: @autoclosure () -> String, _ holds: () -> Bool) async {
        for _ in 0..<15_000 where !holds() { try? await Task.sleep(for: .milliseconds(1)) }
        if !holds() { odd(problem()) }
    }

    /// The first one of a round counts.
    private func odd(_ text: String) { oddity = oddity ?? text }

    private func loadAll(_ images: ImageLoader) async -> Result<Void, NetworkError> {
        do throws(NetworkError) {
            for picture in FaultPicture.all { try await load(ImageRequest("\(setting.url)/\(picture.name)"), picture.width, by: images) }
            let round = ImageRequest("\(setting.url)/a.bmp", size: PixelSize(40, 40), mode: .fill, processors: [.circle])
            try await load(round, 40, by: images)
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// One load with all of its closures.
    private func load(_ request: ImageRequest, _ width: Int, by images: ImageLoader) async throws(NetworkError) {
        let bag = DeallocBag(label: "faults")
        defer { withExtendedLifetime(bag) {} }
        let shown = Lock(0)
        let operation = images.load(request).onPreview { _ in }.onProgress { _ in }
            .onSuccess { image in shown.withLock { $0 = image.width } }
            .start(in: bag)
        switch await operation.outcome() {
        case .succeeded:
            let found = shown.withLock { $0 }
            if found != width { odd("\(request.url) is \(found) pixels wide") }
        case .cancelled(let reason): odd("\(request.url) was cancelled (\(reason)), and nobody did")
        case .failed(let error as ImageLoadError): throw networkError(error)
        case .failed(let error): odd("an error of another type: \(error)")
        }
    }

    private func networkError(_ error: ImageLoadError) -> NetworkError {
        switch error {
        case .transfer(let error): return error
        case .image, .isolation, .processing: return NetworkError(.decodingFailed, phase: .decoding, message: "\(error)")
        case .cancelled:
            odd("a load failed as if it had been cancelled")
            return NetworkError(.cancelled, phase: .receiving, message: "\(error)")
        }
    }
}
