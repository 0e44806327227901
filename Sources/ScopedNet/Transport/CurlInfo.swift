import CCurl

/// curl_easy_getinfo(3) by type.
struct CurlInfo {
    let handle: UnsafeMutableRawPointer

    /// Microseconds.
    func time(_ info: CURLINFO) -> Int64 { max(0, offset(info)) }
    func duration(_ info: CURLINFO) -> Duration { .microseconds(time(info)) }

    func offset(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        _ = scurl_get_off(handle, info, &value)
        return Int64(value)
    }

    func number(_ info: CURLINFO) -> Int {
        var value = 0
        _ = scurl_get_long(handle, info, &value)
        return value
    }

    func text(_ info: CURLINFO) -> String {
        var value: UnsafePointer<CChar>?
        _ = scurl_get_string(handle, info, &value)
        return value.map { String(cString: $0) } ?? ""
    }

    /// The connections that were made for the transfer so far.
    var connections: Int { number(CURLINFO_NUM_CONNECTS) }
    /// The port on this machine, by which transfers on one connection are known.
    var localPort: Int { number(CURLINFO_LOCAL_PORT) }

    /// The socket of the latest connection; -1 without one (CURLINFO_ACTIVESOCKET(3)).
    var socket: Int32 {
        var value: curl_socket_t = -1
        return scurl_get_socket(handle, &value) == CURLE_OK ? value : -1
    }

    /// Reads what libcurl has counted and measured.
    func metrics(started: Moment) -> TransferMetrics {
        var metrics = TransferMetrics(beginning: started)
        metrics.times.nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.times.connect = time(CURLINFO_CONNECT_TIME_T)
        metrics.times.secured = time(CURLINFO_APPCONNECT_TIME_T)
        metrics.times.requestSent = time(CURLINFO_PRETRANSFER_TIME_T)
        metrics.times.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        metrics.times.total = time(CURLINFO_TOTAL_TIME_T)
        metrics.headerBytesReceived = number(CURLINFO_HEADER_SIZE)
        metrics.requestBytes = number(CURLINFO_REQUEST_SIZE)
        metrics.isConnectionReused = metrics.times.requestSent > 0 && connections == 0
        metrics.remoteAddress = text(CURLINFO_PRIMARY_IP)
        metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
        metrics.localPort = localPort
        return metrics
    }

    /// Reads the times of the connection that the request goes out on. The addresses are those that libcurl hands to its callback.
    func connectionTimings(
        remote: UnsafePointer<CChar>?, _ remotePort: Int32, local: UnsafePointer<CChar>?, _ localPort: Int32
    ) -> TransferMetrics.ConnectionTimings {
        let secured = duration(CURLINFO_APPCONNECT_TIME_T)
        return TransferMetrics.ConnectionTimings(
            nameLookup: duration(CURLINFO_NAMELOOKUP_TIME_T), connect: duration(CURLINFO_CONNECT_TIME_T),
            secured: secured > .zero ? secured : nil,
            remoteAddress: remote.map { String(cString: $0) } ?? "", remotePort: Int(remotePort),
            localAddress: local.map { String(cString: $0) } ?? "", localPort: Int(localPort), isReused: connections == 0)
    }
}
