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
        easy.deliver(easy.trust.connected())
        sink.transfer(id, didReach: .opened(easy.info.metrics(started: easy.clocks.startedAt)), batch: batch)
        let thread = thread
        pipe.input.connect(drained: { thread.post(.unpause(id)) }, abandoned: { thread.post(.cancel(id)) })
        // Also where something waits already.
        pipe.output.connect { thread.post(.unpause(id)) }
        sockets.want(SEPOLL_IN, on: descriptor)
    }

    /// Gives a channel a turn.
    func move(_ easy: CurlEasy) {
        guard let channel = easy.channel, let id = easy.id else { return }
        switch channel.turn(now: now) {
        case .waits: break
        case .again: keen.append(id)
        case .refused(let code):
            easy.transfer?.pipe?.output.finish(CurlError(easy: easy, code: code).networkError)
            keen.append(id)
        case .over(let code): return finish(easy, code)
        }
        if channel.deadline != .max { arm(channel.deadline) }
        let events = channel.events
        if events == 0 { sockets.rest(channel.descriptor) } else { sockets.want(events, on: channel.descriptor) }
    }

    /// Moves on those that had more to do in the last turn.
    func moveKeen() {
        guard !keen.isEmpty else { return }
        let ids = keen
        keen = []
        for id in ids { if let easy = channel(id) { move(easy) } }
    }

    /// - Returns: true for a channel; its only clock is that of its end.
    func runClock(ofChannel easy: CurlEasy) -> Bool {
        guard let channel = easy.channel else { return false }
        guard channel.deadline <= now else {
            if channel.deadline != .max { arm(channel.deadline) }
            return true
        }
        if let overdue = channel.overdue { easy.fail(with: easy.error(.idleTimeout, overdue, phase: .sending)) }
        finish(easy, CURLE_OK)
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
