public import FoundationEssentials
import Synchronization

/// The way to end a decoding that runs on another thread.
public final class DecodingCancellation: @unchecked Sendable {
    // Safety: the word is atomic. It is freed by `deinit`, and whatever reads it by its address keeps this object meanwhile.
    private let word: UnsafeMutablePointer<Atomic<Int32>>

    /// Makes one for any number of decodings.
    public init() {
        word = .allocate(capacity: 1)
        word.initialize(to: Atomic(0))
    }

    deinit {
        word.deinitialize(count: 1)
        word.deallocate()
    }

    /// True after ``cancel()``.
    public var isCancelled: Bool { word.pointee.load(ordering: .relaxed) != 0 }

    /// Ends the decodings that have it, within some rows of pixels. They throw `CancellationError`.
    public func cancel() { word.pointee.store(1, ordering: .relaxed) }

    /// The address at which C reads the word, atomically.
    var address: UnsafePointer<Int32> { UnsafeRawPointer(word).assumingMemoryBound(to: Int32.self) }
}

/// A decoder that can be stopped.
public protocol CancellableImageDecoding: ImageDecoding {
    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    ///
    /// - Parameters:
    ///   - data: the whole file.
    ///   - header: its header.
    ///   - options: the size that is wanted, and the limits.
    ///   - cancellation: ends the decoding; nil for one that goes on to its end.
    /// - Returns: the picture, in its orientation as stored.
    /// - Throws: ``ImageError``, or `CancellationError`.
    func decode(
        _ data: Data, header: ImageHeader, options: ImageDecodingOptions, cancellation: DecodingCancellation?
    ) throws -> DecodedImage
}

extension CancellableImageDecoding {
    /// Makes the picture; see ``ImageDecoding/decode(_:header:options:)``.
    public func decode(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) throws -> DecodedImage {
        try decode(data, header: header, options: options, cancellation: nil)
    }

    /// Makes the picture off the caller's actor, and stops when the task is cancelled.
    ///
    /// - Throws: ``ImageError``, or `CancellationError`.
    @concurrent
    public func decodeConcurrently(_ data: Data, header: ImageHeader, options: ImageDecodingOptions) async throws -> DecodedImage {
        let cancellation = DecodingCancellation()
        return try await withTaskCancellationHandler {
            try decode(data, header: header, options: options, cancellation: cancellation)
        } onCancel: {
            cancellation.cancel()
        }
    }
}
