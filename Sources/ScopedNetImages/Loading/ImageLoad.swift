import ScopedNet
import SystemSupport

/// One caller's load: its operation, which is his, and its place among those who wait for the picture.
final class ImageLoad: Sendable {
    typealias Pictures = RequestCoalescer<Key, ImageResponse>

    /// Pictures that are the same are made once; those who look for it in different places do so by themselves.
    struct Key: Hashable, Sendable {
        let picture: ImageKey
        let cache: CachePolicy?
    }

    private struct State: Sendable {
        var member: ScopedOperation?
        var isCancelled = false
    }

    let operation: ScopedOperation
    /// Larger than those of all loads before it.
    let number: UInt64
    private let key: Key
    private let pictures: Pictures
    private let state: Holder

    /// The state that the operation's closure needs before there is a load.
    private final class Holder: Sendable {
        let state = Lock(State())

        func cancel() {
            let member = state.withLock { state in
                state.isCancelled = true
                return state.member
            }
            member?.cancel()
        }

        func set(_ member: ScopedOperation) {
            let isCancelled = state.withLock { state in
                state.member = member
                return state.isCancelled
            }
            if isCancelled { member.cancel() }
        }
    }

    /// Begins the operation, and nothing else.
    init(
        _ request: ImageRequest, _ picture: ImageKey, among pictures: Pictures, of session: Session, _ closures: ImageCall.Closures,
        in bag: DeallocBag?, onEnd: Callback<ScopedOperation.Outcome>?, _ origin: ImageOrigin
    ) {
        let state = Holder()
        number = origin.number
        (key, self.pictures, self.state) = (Key(picture: picture, cache: request.cache), pictures, state)
        operation = ScopedOperation(in: bag, of: session, tag: request.tag, onEnd: onEnd, fileID: origin.fileID, line: origin.line) { _ in
            closures.discard()
            state.cancel()
        }
    }

    /// Joins those who wait for the picture.
    func join(
        of session: Session, _ closures: ImageCall.Closures, priority: Priority, _ fileID: StaticString, _ line: Int,
        work: @escaping @Sendable (CoalescedWork) async throws -> ImageResponse
    ) {
        guard operation.isRunning else { return }
        let operation = operation
        let member = pictures.join(
            key, of: session, priority: priority,
            // A member may be cancelled from outside, with its session. One that has a result is not cancelled for it: the call may wait for its actor still.
            onEnd: Callback { outcome in if case .cancelled = outcome { operation.cancel() } },
            to: Callback { closures.finish(operation, $0) }, fileID: fileID, line: line, work: work)
        state.set(member)
    }

    func setPriority(_ priority: Priority) {
        if let member = state.state.withLock({ $0.member }) { pictures.setPriority(priority, of: member, for: key) }
    }
}

extension ImageCall.Closures {
    /// Destroys what was not called.
    func discard() {
        success?.discard()
        failure?.discard()
        preview?.discard()
        progress?.discard()
    }

    func finish(_ operation: ScopedOperation, _ result: Result<ImageResponse, any Error>) {
        switch result {
        case .success(let response):
            if let success { operation.finish(with: response, to: success) } else { operation.finish() }
            failure?.discard()
        case .failure(let error):
            let error = ImageLoadError(error)
            // Its session ends, for example: that is no failure.
            if error.isCancelled {
                operation.cancel()
                return
            }
            if let failure { operation.finish(throwing: error, to: failure) } else { operation.finish(throwing: error) }
            success?.discard()
        }
        preview?.discard()
        progress?.discard()
    }
}
