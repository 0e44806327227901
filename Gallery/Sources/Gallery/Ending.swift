@_spi(Census) import ScopedNet

extension Services {
    /// Ends everything behind the window, and tells how long the server took to see it.
    ///
    /// - Parameters:
    ///   - began: the time at which the window was closed.
    ///   - requests: those that were being answered then.
    func end(since began: ContinuousClock.Instant, requests: Int) async {
        report.closeWindow()
        if let meter { report.say(meter.line) }
        // A server in another process is told of by the sockets alone.
        await server?.waitForRequests()
        let idle = began.duration(to: .now)
        await session.shutdown()
        if let server { await server.waitForSockets() } else { await Sockets.waitForNone(toPort: port) }
        let closed = began.duration(to: .now)
        let receipts = LiveObjects.snapshot()[.imageReceipt]
        let times = "requests \(requests) ms \(idle.milliseconds()) sockets ms \(closed.milliseconds())"
        report.say("closed \(times) receipts \(receipts) late \(report.lateCalls)")
    }
}

extension Duration {
    /// Milliseconds with some digits behind the point, one by default.
    func milliseconds(digits: Int = 1) -> String {
        let microseconds = Int(components.seconds) * 1_000_000 + Int(components.attoseconds / 1_000_000_000_000)
        let behind = String(1_000 + microseconds % 1_000).dropFirst().prefix(digits)
        return "\(microseconds / 1_000).\(behind)"
    }
}
