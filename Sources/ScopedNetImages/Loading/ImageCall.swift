public import ScopedNet
import SystemSupport

/// One load of a picture, with closures. Made by ``ImageLoader/load(_:)``.
///
/// ```swift
/// images.load(ImageRequest(photo.url, size: cell.pixelSize, mode: .fill))
///     .onPreview(for: cell) { cell, image in cell.picture = image }
///     .onSuccess(for: cell) { cell, image in cell.picture = image }
///     .onFailure(for: cell) { cell, error in cell.caption = "\\(error)" }
///     .start(in: cell.bag)
/// ```
///
/// Closures run where they were written, never from inside `start`, and are destroyed when the load has ended; after a cancel none but that of
/// `onEnd` is called. They arm the next start, as those of a `Request` do.
public final class ImageCall: Sendable {
    struct Closures: Sendable {
        let id = Identifier.next()
        var success: Callback<ImageResponse>?
        var failure: Callback<ImageLoadError>?
        var preview: Callback<DecodedImage>?
        var progress: Callback<TransferProgress>?
        var end: Callback<ScopedOperation.Outcome>?
    }

    /// The picture that is wanted.
    public let request: ImageRequest
    private let loader: ImageLoader
    private let closures = Lock(Closures())

    init(_ loader: ImageLoader, _ request: ImageRequest) { (self.loader, self.request) = (loader, request) }

    /// The picture is there.
    public var onSuccess: CallbackRegistration<ImageCall, DecodedImage> { registration { $0.success = $1.map { $0.image } } }
    /// The picture is there, and told are where it came from and the file it was made of; in place of ``onSuccess``.
    public var onResponse: CallbackRegistration<ImageCall, ImageResponse> { registration { $0.success = $1 } }
    /// It cannot be had; not after a cancel.
    public var onFailure: CallbackRegistration<ImageCall, ImageLoadError> { registration { $0.failure = $1 } }
    /// A part of a progressive picture came: all of it, less sharp than it will be, and where that is large with a quarter of its width and height. At most
    /// three times, of more than 8 million pixels twice, half a second apart; not from memory.
    public var onPreview: CallbackRegistration<ImageCall, DecodedImage> { registration { $0.preview = $1 } }
    /// Bytes came, of the transfer that this load shares with others.
    public var onProgress: CallbackRegistration<ImageCall, TransferProgress> { registration { $0.progress = $1 } }
    /// It ended, whatever the end is; the last call.
    public var onEnd: CallbackRegistration<ImageCall, ScopedOperation.Outcome> { registration { $0.end = $1 } }

    /// Starts the load, which belongs to the owner of a bag and ends with it.
    ///
    /// - Parameters:
    ///   - bag: the owner's.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the load. Its cancel is silent; dropping it changes nothing.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> ScopedOperation {
        begin(in: bag, fileID, line).operation
    }

    /// Starts the load, which belongs to its receipt and ends with it.
    ///
    /// - Parameters:
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the receipt.
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> ImageReceipt {
        ImageReceipt(begin(in: nil, fileID, line))
    }

    func begin(in bag: DeallocBag?, _ fileID: StaticString = #fileID, _ line: Int = #line) -> ImageLoad {
        loader.start(request, take(), in: bag, fileID: fileID, line: line)
    }

    private func registration<Value: Sendable>(
        _ set: @escaping @Sendable (inout Closures, Callback<Value>) -> Void
    ) -> CallbackRegistration<ImageCall, Value> {
        CallbackRegistration(self) { [self] callback in
            // The old one is let go outside the lock.
            let old = closures.withLock { closures in
                let old = closures
                set(&closures, callback)
                return old
            }
            _ = old
        }
    }

    private func take() -> Closures {
        closures.withLock { closures in
            defer { closures = Closures() }
            return closures
        }
    }
}
