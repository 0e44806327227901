import CCurl
import CEpoll
import SystemSupport

/// Channels: transfers that go on once their connection stands, and whose sockets are the loop's own from then on.
extension CurlLoop {
    /// The connection stands.
    func open(_ easy: CurlEasy, _ pipe: ChannelPipe, _ id: TransferID, _ sink: any TransferSink) {
        let descriptor = easy.info.socket
        guard descriptor >= 0 else {
            easy.fail(with: easy.error(.connectionLost, "the connection of a channel was closed at once"))
            return finish(easy, CURLE_OK)
        }
        easy.channel = CurlChannel(easy, descriptor: descriptor, pipe)
        channels[descriptor] = easy
        if let multi = easy.multi { pools.rest(multi) }
        sink.transfer(id, didReach: .opened(easy.info.metrics(started: easy.clocks.startedAt)), batch: batch)
        let thread = thread
        pipe.input.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.cancel(id)) })
        // Also where something waits already.
        pipe.output.connect { thread.post(.unpause(id)) }
        sockets.want(SEPOLL_IN, on: descriptor)
    }

    /// Moves what can be moved in either direction.
    func move(_ easy: CurlEasy) {
        guard let channel = easy.channel, let pipe = easy.transfer?.pipe, let id = easy.id else { return }
        let (read, sent) = (channel.receive(), channel.send())
        for progress in [read, sent] { if case .failed(let code) = progress { return finish(easy, code) } }
        if channel.hasReadAll { pipe.input.finish(nil) }
        if case .ended = sent, !channel.hasSaidEnd { channel.sayEnd() }
        // The other side closes: what was taken still goes out.
        if channel.hasReadAll, channel.hasSaidEnd || channel.hasSentAll { return finish(easy, CURLE_OK) }
        if channel.hasSaidEnd {
            // A reader that is behind is waited for, as long as there is one.
            channel.deadline = channel.isBehind ? .max : now &+ Self.patience
            if channel.deadline != .max { arm(channel.deadline) }
        }
        let events = (channel.readsOn ? SEPOLL_IN : 0) | (channel.awaitsRoom ? SEPOLL_OUT : 0)
        if events == 0 { sockets.rest(channel.descriptor) } else { sockets.want(events, on: channel.descriptor) }
        // Bytes that TLS has read ahead wake nobody. Others first.
        switch (read, sent) {
        case (.goesOn, _), (_, .goesOn): keen.append(id)
        default: break
        }
    }

    /// Moves on those that had more to do in the last turn.
    func moveKeen() {
        guard !keen.isEmpty else { return }
        let ids = keen
        keen = []
        for id in ids { if let easy = channel(id) { move(easy) } }
    }

    /// Silence of the other side after this one has closed: then it is closed by force.
    private static let patience: UInt64 = 5_000_000_000

    /// - Returns: true for a channel; its only clock is that of its end.
    func runClock(ofChannel easy: CurlEasy) -> Bool {
        guard let channel = easy.channel else { return false }
        if channel.deadline <= now { finish(easy, CURLE_OK) } else if channel.deadline != .max { arm(channel.deadline) }
        return true
    }

    /// The channel, or the making of its connection, is over.
    func end(_ easy: CurlEasy, _ pipe: ChannelPipe, _ error: NetworkError?) {
        if let descriptor = easy.channel?.descriptor {
            channels[descriptor] = nil
            sockets.unwant(descriptor)
        }
        // A cancelled channel has been told the reason, which is not known here.
        if error?.code != .cancelled { pipe.finish(error) }
    }
}
