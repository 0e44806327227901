import ScopedNet
import SystemSupport

/// Those who want to hear of a picture before it is there: its progress and its previews.
final class ImageListeners: Sendable {
    struct Listener: Sendable {
        let id: UInt64
        let operation: ScopedOperation
        var progress: Callback<TransferProgress>?
        var preview: Callback<DecodedImage>?
    }

    private let all = Lock<[ImageKey: [UInt64: Listener]]>([:])

    func add(_ listener: Listener, to key: ImageKey) {
        all.withLock { $0[key, default: [:]][listener.id] = listener }
        // It may have ended before it was put in.
        if !listener.operation.isRunning { remove(listener.id, from: key) }
    }

    func remove(_ id: UInt64, from key: ImageKey) {
        let gone = all.withLock { all -> Listener? in
            let gone = all[key]?.removeValue(forKey: id)
            if all[key]?.isEmpty == true { all[key] = nil }
            return gone
        }
        _ = gone
    }

    func wantsPreviews(_ key: ImageKey) -> Bool { all.withLock { $0[key]?.values.contains { $0.preview != nil } ?? false } }

    func tell(_ progress: TransferProgress, of key: ImageKey) {
        for listener in listeners(key) {
            if let callback = listener.progress { listener.operation.send(progress, to: callback) }
        }
    }

    func tell(preview: DecodedImage, of key: ImageKey) {
        for listener in listeners(key) {
            if let callback = listener.preview { listener.operation.send(preview, to: callback) }
        }
    }

    private func listeners(_ key: ImageKey) -> [Listener] { all.withLock { $0[key].map { Array($0.values) } ?? [] } }
}
