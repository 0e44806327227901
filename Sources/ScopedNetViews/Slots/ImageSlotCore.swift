import ScopedNet
import ScopedNetImages
import SystemSupport

/// One picture of a view: at most one load, whose result is the only one that is shown.
@MainActor final class ImageSlotCore<Target: AnyObject> {
    typealias Display = @MainActor (_ target: Target, _ image: DecodedImage?, _ isPreview: Bool) -> Void

    /// A place of the picture in its view.
    struct Place: Sendable, Hashable {
        var state = ControlState.normal
        var layer = ControlLayer.image
    }

    private struct Load: Sendable {
        let key: ImageKey
        let cache: CachePolicy?
        let place: Place
        var binding: ImageBinding<Target>
        let display: Display
    }

    private weak var target: Target?
    private let loader: ImageLoader
    private let scope: SlotScope<Load>
    nonisolated private var work: SlotWork<Load> { scope.work }
    /// The load of which a preview is shown.
    private var previewed: UInt64?

    init(_ target: Target, _ loader: ImageLoader, in bag: DeallocBag?) {
        (self.target, self.loader) = (target, loader)
        scope = SlotScope(in: bag)
    }

    var isLoading: Bool { work.content != nil }
    var request: ImageRequest? { work.content?.binding.request }

    nonisolated func cancel() { work.cancel() }

    func bind(_ binding: ImageBinding<Target>, at place: Place, _ fileID: StaticString, _ line: Int, display: @escaping Display) {
        guard let target, !work.isEnded else { return work.cancel() }
        guard let request = binding.request else {
            work.cancel()
            return show(binding.placeholder, in: target, display)
        }
        let (key, found, isFresh) = loader.lookUp(request)
        let load = Load(key: key, cache: request.cache, place: place, binding: binding, display: display)
        if let current = work.content, current.key == key, current.cache == request.cache, current.place == place,
            current.binding.showsPreviews || !binding.showsPreviews
        {
            return adopt(load, priority: request.priority)
        }
        if let found, isFresh {
            work.cancel()
            return show(found, load, in: target)
        }
        let isSameFile = work.content?.key.url == key.url
        guard let (number, former) = work.replace(load) else { return }
        if !isSameFile { former?.cancel() }
        // One that is stale is shown until the new one is there.
        if let found { show(found, load, in: target) } else { show(binding.placeholder, in: target, display) }
        // The view may have asked for another meanwhile.
        guard work.content(of: number) != nil else {
            former?.cancel()
            return
        }
        let receipt = start(request, number, showsPreviews: binding.showsPreviews, fileID, line)
        work.set(ReceiptEnd(receipt, behind: isSameFile ? former : nil), of: number)
    }

    /// The load goes on for the closures of the new binding.
    private func adopt(_ load: Load, priority: Priority) {
        work.replaceContent(load)
        work.withWork { ($0 as? ReceiptEnd)?.receipt.setPriority(priority) }
    }

    private func start(
        _ request: ImageRequest, _ number: UInt64, showsPreviews: Bool, _ fileID: StaticString, _ line: Int
    ) -> ImageReceipt {
        var call = loader.load(request)
            .onResponse(for: self) { core, response in core.succeeded(response, number) }
            .onFailure(for: self) { core, error in core.failed(error, number) }
            .onProgress(for: self) { core, progress in core.progressed(progress, number) }
            .onEnd(for: self) { core, _ in _ = core.work.end(number) }
        if showsPreviews { call = call.onPreview(for: self) { core, image in core.preview(image, number) } }
        return call.start(fileID: fileID, line: line)
    }

    // MARK: The load tells

    private func succeeded(_ response: ImageResponse, _ number: UInt64) {
        guard let load = work.end(number), let target else { return }
        show(response, load, in: target)
    }

    private func failed(_ error: ImageLoadError, _ number: UInt64) {
        guard let load = work.end(number), let target else { return }
        // No part of a picture that does not come stays in the place of its placeholder.
        if previewed == number { show(load.binding.placeholder, in: target, load.display) }
        load.binding.onFailure?(target, error)
    }

    private func progressed(_ progress: TransferProgress, _ number: UInt64) {
        guard let load = work.content(of: number) else { return }
        guard let target else { return work.cancel() }
        work.withWork { ($0 as? ReceiptEnd)?.joined() }
        load.binding.onProgress?(target, progress)
    }

    private func preview(_ image: DecodedImage, _ number: UInt64) {
        guard let load = work.content(of: number), load.binding.showsPreviews else { return }
        guard let target else { return work.cancel() }
        previewed = number
        load.display(target, image, true)
    }

    // MARK: Showing

    private func show(_ response: ImageResponse, _ load: Load, in target: Target) {
        if let onSuccess = load.binding.onSuccess { onSuccess(target, response) } else { load.display(target, response.image, false) }
    }

    private func show(_ placeholder: ImagePlaceholder, in target: Target, _ display: Display) {
        switch placeholder {
        case .keep: break
        case .clear: display(target, nil, false)
        case .placeholder(let image): display(target, image, false)
        }
    }
}

/// Ends a load by its receipt, and the load before, which may be of the same file in another size: that one holds the transfer until this one has joined it,
/// as its progress tells, or has ended.
private final class ReceiptEnd: Cancellable {
    let receipt: ImageReceipt
    private let former: Lock<(any Cancellable)?>

    init(_ receipt: ImageReceipt, behind former: (any Cancellable)?) {
        self.receipt = receipt
        // Of three the first holds the transfer, and the second is not needed.
        let first = (former as? ReceiptEnd)?.takeFormer()
        self.former = Lock(first ?? former)
        if first != nil { former?.cancel() }
    }

    deinit { joined() }

    func joined() { takeFormer()?.cancel() }

    func cancel() {
        receipt.cancel()
        joined()
    }

    private func takeFormer() -> (any Cancellable)? {
        former.withLock { former in
            defer { former = nil }
            return former
        }
    }
}
