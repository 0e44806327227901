@_spi(Census) import ScopedNet

extension Services {
    /// Ends everything behind the window, and tells how long the server took to see it.
    ///
    /// - Parameters:
    ///   - began: the time at which the window was closed.
    ///   - requests: those that were being answered then.
    func end(since began: ContinuousClock.Instant, requests: Int) async {
        report.closeWindow()
        await server.waitForRequests()
        let idle = began.duration(to: .now)
        await session.shutdown()
        await server.waitForSockets()
        let closed = began.duration(to: .now)
        let receipts = LiveObjects.snapshot()[.imageReceipt]
        let times = "requests \(requests) ms \(idle.milliseconds) sockets ms \(closed.milliseconds)"
        report.say("closed \(times) receipts \(receipts) late \(report.lateCalls)")
    }
}

extension Duration {
    /// Milliseconds with one digit behind the point.
    var milliseconds: String {
        let tenths = Int(components.seconds) * 10_000 + Int(components.attoseconds / 100_000_000_000_000)
        return "\(tenths / 10).\(tenths % 10)"
    }
}
