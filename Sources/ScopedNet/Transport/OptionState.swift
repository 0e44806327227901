import CCurl

/// The options of a handle as they are set, so that a transfer sets only what differs from the one before. (pure)
struct OptionState {
    /// The size of libcurl's own buffer (CURL_MAX_WRITE_SIZE).
    static let usualBufferBytes = 16 << 10

    /// The change of the HTTP version that a transfer needs.
    enum VersionChange: Sendable, Hashable {
        case none
        /// The transfer may share a connection that is being made.
        case waitForMultiplex
        /// There is nothing to wait for.
        case stopWaiting
        case http1
        case http2PriorKnowledge
    }

    /// Something was set that only a reset takes back.
    var isDirty = true
    /// The first option of this transfer that could not be set.
    private(set) var failure = CURLE_OK
    /// CURLOPT_PIPEWAIT is on.
    private(set) var waitsForMultiplex = false
    /// CURLOPT_BUFFERSIZE as it is set.
    private var bufferBytes = OptionState.usualBufferBytes
    /// CURLOPT_CONNECTTIMEOUT_MS as it is set; nil when that is not known.
    private var connectMilliseconds: Int?

    /// The handle was reset: libcurl's defaults are back.
    mutating func wasReset() {
        waitsForMultiplex = false
        bufferBytes = Self.usualBufferBytes
        connectMilliseconds = nil
    }

    /// Keeps the first code that is a failure. What a libcurl does not know at all it also does not need.
    mutating func note(_ code: CURLcode) {
        guard code != CURLE_OK, code != CURLE_UNKNOWN_OPTION, code != CURLE_NOT_BUILT_IN else { return }
        if failure == CURLE_OK { failure = code }
    }

    /// Ends the setting of options. After one of them could not be set the handle is not what the transfer asks for, and is reset before its
    /// next one.
    mutating func takeFailure() -> CURLcode? {
        guard failure != CURLE_OK else { return nil }
        defer { failure = CURLE_OK }
        isDirty = true
        return failure
    }

    /// True if the size of the buffer has to be set.
    mutating func changesBuffer(to bytes: Int) -> Bool {
        guard bufferBytes != bytes else { return false }
        bufferBytes = bytes
        return true
    }

    /// True if the connect clock has to be set.
    mutating func changesConnectClock(to milliseconds: Int) -> Bool {
        guard connectMilliseconds != milliseconds else { return false }
        connectMilliseconds = milliseconds
        return true
    }

    /// Decides about the version. Over plain HTTP/1.1 there is nothing to wait for: each request would stand behind the first one's response.
    mutating func change(to version: ConnectionSettings.HTTPVersionPolicy, scheme: String) -> VersionChange {
        switch version {
        case .automatic where scheme == "http":
            guard waitsForMultiplex else { return .none }
            waitsForMultiplex = false
            return .stopWaiting
        case .automatic, .http2:
            guard !waitsForMultiplex else { return .none }
            waitsForMultiplex = true
            return .waitForMultiplex
        case .http1:
            isDirty = true
            return .http1
        case .http2PriorKnowledge:
            isDirty = true
            return .http2PriorKnowledge
        }
    }
}
