/// The limits on the speed of one transfer.
///
/// A callback that comes too early answers libcurl with a pause, and the loop's clocks take it back: nobody sleeps. libcurl's own limits
/// (CURLOPT_MAX_RECV_SPEED_LARGE) are no help: 7.88 takes what is there already at once, and waits when all is over (measured: a megabyte
/// at 300 KB/s came in 6 ms).
final class Pacer {
    var upload: SpeedLimit?
    var download: SpeedLimit?

    init(_ pace: TransferPace) {
        upload = pace.upload.map { SpeedLimit(rate: $0) }
        download = pace.download.map { SpeedLimit(rate: $0) }
    }
}
