public import FoundationEssentials
@_spi(Transport) public import ScopedNet
import SystemSupport

/// The other side of a channel at a ``MockTransport``: what the program sends is received here, and what is sent here the program reads.
///
/// ```swift
/// let channel = try await DuplexChannel.open("socket", with: session)
/// let server = await session.mock.channel(0)
/// try await channel.send(Data("ping".utf8))
/// #expect(await server.receive() == Data("ping".utf8))
/// await server.send(Data("pong".utf8))
/// server.close()
/// ```
public final class MockChannel: Sendable {
    private struct State {
        var sink: (any TransferSink)?
        var waiters: [CheckedContinuation<Void, Never>] = []
        var isEnded = false
        /// The library has been told of the end.
        var isTold = false
    }

    private let transfer: TransferRequest
    private let state: Lock<State>

    init(_ transfer: TransferRequest, sink: (any TransferSink)?) {
        self.transfer = transfer
        state = Lock(State(sink: sink, isEnded: sink == nil, isTold: sink == nil))
    }

    /// For a test that was cancelled while it waited for a channel. It has ended.
    static var ofNobody: MockChannel {
        MockChannel(TransferRequest(url: .placeholder("none"), headers: .empty, options: TransferOptions()), sink: nil)
    }

    /// The URL that the program has opened.
    public var url: String { transfer.url.string }
    /// True once either side has closed, the program has cancelled, or it was failed here.
    public var isEnded: Bool { state.withLock { $0.isEnded } }
    var id: TransferID { transfer.id }
    private var pipe: ChannelPipe? { transfer.pipe }

    /// The next bytes that the program has sent, as it gave them; nil at the end. Until they are received, the program's `window` holds.
    public func receive() async -> Data? {
        while !isEnded {
            if let data = pipe?.output.first {
                pipe?.output.takeFirst()
                return data
            }
            if pipe?.output.isDone == true {
                end(nil)
                return nil
            }
            await change { [self] in pipe?.output.first != nil || pipe?.output.isDone == true }
        }
        return nil
    }

    /// Hands bytes to the program, and returns when its `window` took them, or the channel has ended.
    public func send(_ data: Data) async {
        while !isEnded {
            guard let input = pipe?.input, data.withUnsafeBytes({ input.offer($0) }) == .pause else { return }
            await change { input.bufferedBytes < input.window }
        }
    }

    /// Ends the channel as a server does that closes it.
    public func close() { end(nil) }

    /// Ends the channel with an error.
    public func fail(_ code: NetworkError.Code = .connectionLost) {
        end(NetworkError(code, phase: code == .connectionLost ? .receiving : .connecting, message: "the mock channel was failed"))
    }

    // MARK: The transport's side

    func open() {
        guard let sink = state.withLock({ $0.sink }), let pipe else { return }
        let batch = DeliveryBatch()
        sink.transfer(id, didReach: .opened(TransferMetrics()), batch: batch)
        batch.end()
        pipe.input.connect(drained: { [weak self] in self?.wake() }, abandoned: { [weak self] in self?.wake() })
        pipe.output.connect { [weak self] in
            guard let self else { return }
            if pipe.output.isDone { end(nil) } else { wake() }
        }
    }

    func end(_ error: NetworkError?) {
        let sink = state.withLock { state in
            defer { (state.sink, state.isEnded) = (nil, true) }
            return state.sink
        }
        wake()
        guard let sink else { return }
        // Never from within what the library calls.
        WorkPool.shared.submit([
            { [self, id, pipe] in
                if error?.code != .cancelled { pipe?.finish(error) }
                let batch = DeliveryBatch()
                sink.transfer(id, didFinishWith: TransferResult(error: error), batch: batch)
                batch.end()
                state.withLock { $0.isTold = true }
                wake()
            }
        ])
    }

    /// Waits until the library has been told of the end.
    func settle() async {
        while !state.withLock({ $0.isTold }) {
            await withCheckedContinuation { continuation in
                state.withLock { $0.waiters.append(continuation) }
                if state.withLock({ $0.isTold }) { wake() }
            }
        }
    }

    private func wake() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Waits until something has changed; not where that has happened already.
    private func change(_ hasChanged: @Sendable () -> Bool) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiters.append(continuation) }
            if isEnded || hasChanged() { wake() }
        }
    }
}
