import CCurl
import SystemSupport

/// curl_easy_getinfo(3).
extension CurlEasy {
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

    func metrics() -> TransferMetrics {
        var metrics = TransferMetrics(started: startedAt)
        metrics.times.nameLookup = time(CURLINFO_NAMELOOKUP_TIME_T)
        metrics.times.connect = time(CURLINFO_CONNECT_TIME_T)
        metrics.times.secured = time(CURLINFO_APPCONNECT_TIME_T)
        metrics.times.requestSent = time(CURLINFO_PRETRANSFER_TIME_T)
        metrics.times.firstByte = time(CURLINFO_STARTTRANSFER_TIME_T)
        // With a body to send, libcurl's clock stops at the first byte of either direction.
        if uploadFeed != nil { metrics.times.firstByte = headCompleted > began ? Int64(clamping: (headCompleted - began) / 1_000) : 0 }
        metrics.times.total = time(CURLINFO_TOTAL_TIME_T)
        // libcurl's clock stands still since its last progress when we end the transfer: cancelled, timed out.
        if failure != nil { metrics.times.total = max(metrics.times.total, Int64(clamping: (monotonicNow() &- began) / 1_000)) }
        if uploadFeed != nil { metrics.bodyBytesSent = payload(time(CURLINFO_SIZE_UPLOAD_T)) }
        metrics.bodyBytesReceived = received
        metrics.headerBytesReceived = number(CURLINFO_HEADER_SIZE)
        metrics.requestBytes = number(CURLINFO_REQUEST_SIZE)
        // A body that travels in one packet with the head is counted there too (Curl_buffer_send in http.c).
        if Capabilities.current.countsBodiesAsHeads, uploadFeed?.contiguousBytes != nil, metrics.requestBytes > metrics.bodyBytesSent {
            metrics.requestBytes -= Int(clamping: metrics.bodyBytesSent)
        }
        metrics.isConnectionReused = metrics.times.requestSent > 0 && number(CURLINFO_NUM_CONNECTS) == 0
        metrics.httpVersion = head?.version ?? ""
        metrics.remoteAddress = text(CURLINFO_PRIMARY_IP)
        metrics.remotePort = number(CURLINFO_PRIMARY_PORT)
        metrics.localPort = number(CURLINFO_LOCAL_PORT)
        return metrics
    }
}
