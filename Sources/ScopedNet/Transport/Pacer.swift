/// The limits on the speed of one transfer, and when it goes on. Network thread only.
///
/// A callback that comes too early answers libcurl with a pause, and the loop's clocks take it back: nobody sleeps. libcurl's own limits
/// (CURLOPT_MAX_RECV_SPEED_LARGE) are no help: 7.88 takes what is there already at once, and waits when all is over (measured: a megabyte
/// at 300 KB/s came in 6 ms).
final class Pacer {
    var upload: SpeedLimit?
    var download: SpeedLimit?
    /// When libcurl is to be asked again; nil where the limit holds nothing back.
    fileprivate var wakeUp: UInt64?

    init(_ pace: TransferPace) {
        upload = pace.upload.map { SpeedLimit(rate: $0) }
        download = pace.download.map { SpeedLimit(rate: $0) }
    }
}

extension CurlEasy {
    /// Whether the next bytes of the response are too early; the loop then comes back to it.
    func holdsDownload() -> Bool {
        guard let pacer, let time = pacer.download?.wait(now: loop.now) else { return false }
        isReadPaused = true
        hold(pacer, until: time)
        return true
    }

    /// Whether the next bytes of the body are too early.
    func holdsUpload() -> Bool {
        guard let pacer, let time = pacer.upload?.wait(now: loop.now) else { return false }
        isWritePaused = true
        hold(pacer, until: time)
        return true
    }

    private func hold(_ pacer: Pacer, until time: UInt64) {
        pacer.wakeUp = min(pacer.wakeUp ?? .max, time)
        loop.arm(nextDeadline(now: loop.now))
    }

    /// When a transfer that is paused goes on by itself. Suspended, it does not.
    var paceDeadline: UInt64 { isSuspended ? .max : pacer?.wakeUp ?? .max }

    /// Takes the pause back when its time has come. Whoever else wanted one is asked again by libcurl.
    ///
    /// - Returns: true when libcurl must be run.
    func goesOnInPace(now: UInt64) -> Bool {
        guard let pacer, let time = pacer.wakeUp, time <= now, !isSuspended else { return false }
        pacer.wakeUp = nil
        return unpause()
    }
}
