import CleanSlate
import FoundationEssentials
import HTTPTypes
import ScopedNet
import ScopedNetImages
import ScopedNetTesting
import ScopedNetViews

/// A session over a mock transport, with the observer of its views and a loader.
@MainActor struct ViewTest {
    let session: Session
    let views: ViewObserver
    let images: ImageLoader
    var mock: MockTransport { session.mock }

    init(unanswered: MockTransport.Unanswered = .wait, isObserved: Bool = true, _ change: (inout Session.Configuration) -> Void = { _ in })
    {
        let views = ViewObserver()
        session = MockTransport.session("http://views.test/", unanswered: unanswered) { configuration in
            if isObserved { configuration.observers.append(views) }
            change(&configuration)
        }
        self.views = views
        var configuration = ImageLoader.Configuration()
        configuration.relievesMemory = false
        images = ImageLoader(session, configuration: configuration)
    }

    /// Waits until nothing of the session goes on, and the main actor has heard of all of it.
    func settle() async {
        await session.agent.waitUntilIdle()
        await mainQueue()
    }

    func end() async {
        await settle()
        await session.shutdown()
        await mainQueue()
    }

    /// A bitmap of 24 bits, every pixel of one colour, which is fresh for a minute.
    static func reply(red: UInt8, _ width: Int = 4, _ height: Int = 3, cacheControl: String = "max-age=60") -> MockReply {
        let stride = (width * 3 + 3) / 4 * 4
        func four(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
        var bytes = Array("BM".utf8) + four(54 + stride * height) + four(0) + four(54) + four(40) + four(width) + four(height)
        bytes += [1, 0, 24, 0] + four(0) + four(stride * height) + four(0) + four(0) + four(0) + four(0)
        var row = [UInt8](repeating: 0, count: stride)
        for column in 0..<width { row[column * 3 + 2] = red }
        for _ in 0..<height { bytes += row }
        return MockReply(body: Data(bytes)).header(.cacheControl, cacheControl)
    }

    static func image(red: UInt8, _ width: Int = 2, _ height: Int = 2) throws -> DecodedImage {
        try DecodedImage(width: width, height: height) { pixels in
            for place in stride(from: 0, to: pixels.count, by: 4) { (pixels[place], pixels[place + 3]) = (red, 255) }
        }
    }
}

/// Returns when the main queue has done what was in it.
@MainActor func mainQueue() async {
    await withCheckedContinuation { continuation in DeliveryLane.main.enqueue(.work { continuation.resume() }) }
    await Task.yield()
}

extension DecodedImage {
    /// The red of the first pixel.
    var red: UInt8 { withPixels { $0[0] } }
}

/// A view that notes the pictures that it is to show, by their red.
@MainActor final class PictureView: ImageDisplaying {
    nonisolated let bag = DeallocBag()
    private(set) var log: [String] = []
    var slot: ImageSlot<PictureView>?
    var onDisplay: (() -> Void)?

    /// Makes a view with a slot that ends with its bag.
    convenience init(_ images: ImageLoader) {
        self.init()
        slot = ImageSlot(for: self, loader: images, in: bag)
    }

    func display(_ image: DecodedImage?) {
        log.append(image.map { "\($0.red)" } ?? "none")
        onDisplay?()
    }

    func displayPreview(_ image: DecodedImage) { log.append("preview \(image.red)") }
    func note(_ line: String) { log.append(line) }
}

/// A control that notes its pictures.
@MainActor final class ButtonView: StatefulImageDisplaying {
    private(set) var log: [String] = []

    func display(_ image: DecodedImage?, for state: ControlState, on layer: ControlLayer) {
        log.append("\(layer) \(state.rawValue): \(image.map { "\($0.red)" } ?? "none")")
    }
}

/// A bar, a spinner and a banner in one, that notes all it is told.
@MainActor final class StatusView: ProgressDisplaying, BusyDisplaying, ErrorPresenting {
    private(set) var log: [String] = []
    var onBusy: () -> Void = {}

    func display(_ progress: ProgressValue, animated: Bool) {
        log.append(progress.fraction.map { "\($0)\(animated ? "" : ", at once")" } ?? "unknown")
    }

    func setPaused(_ isPaused: Bool) { log.append(isPaused ? "paused" : "goes on") }
    func endProgress() { log.append("end") }
    func setBusy(_ isBusy: Bool) {
        log.append(isBusy ? "busy" : "idle")
        if isBusy { onBusy() }
    }
    func present(_ error: ErrorText) { log.append("\(error.text) | \(error.recovery ?? "no advice")") }
}

/// A view that notes its pages, and shows them when the test says so.
@MainActor final class PageView: PageDisplaying {
    var log: [String] = []
    private(set) var pages: [PageContent] = []
    private(set) var completions: [@MainActor (Result<Void, any Error>) -> Void] = []
    /// Shows each page at once.
    var isImmediate = true
    var onStart: (() -> Void)?

    func load(_ page: PageContent, completion: @escaping @MainActor (Result<Void, any Error>) -> Void) {
        log.append("load")
        pages.append(page)
        if isImmediate { completion(.success(())) } else { completions.append(completion) }
    }

    func stopLoading() { log.append("stop") }
    func pageDidFinish() { log.append("finish") }
    func pageDidFail(_ error: any Error) { log.append("fail \((error as? NetworkError)?.code.description ?? "\(error)")") }

    func pageDidStart() {
        log.append("start")
        onStart?()
    }
}

/// Errors of pictures.
enum ImageLoadErrors {
    static let cancelled = ImageLoadError.cancelled
    static let damaged = ImageLoadError.image(.unknownFormat)
}

extension Request {
    /// The error of a run; nil for a success.
    func outcome() async -> NetworkError? {
        do throws(NetworkError) {
            _ = try await value()
            return nil
        } catch {
            return error
        }
    }
}

/// The end of a slot before that of its work.
enum SlotEnd: CaseIterable {
    case cancel, bag, release
}
