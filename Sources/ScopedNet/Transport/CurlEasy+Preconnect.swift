import CCurl

/// Connections that are made ahead of the requests that use them.
///
/// A connection made with CURLOPT_CONNECT_ONLY(3) belongs to its handle, and no other transfer gets it. Set while libcurl asks whether the request may
/// be sent, when the connection was made as any other, the option has it end the transfer there and put the connection into its pool (state_do and
/// multi_done in multi.c); taken back before the handle leaves, it has no further effect (curl_multi_remove_handle). Shown by `PreconnectTests`, with
/// libcurl 7.88 and 8.14.
extension CurlEasy {
    /// The connection stands.
    func stopAtConnection() -> Bool {
        deliver(trust.connected())
        return scurl_set_long(handle, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// The handle is about to leave its pool, and the connection to stay there.
    func leaveConnection() {
        guard transfer?.isConnectOnly == true else { return }
        _ = scurl_set_long(handle, CURLOPT_CONNECT_ONLY, 0)
    }
}
