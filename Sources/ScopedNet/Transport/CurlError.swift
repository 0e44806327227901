import CCurl
import Glibc

/// The meaning of a `CURLcode` for a caller: libcurl's codes are coarse, so errno, the verification result and the text help.
struct CurlError {
    let easy: CurlEasy
    let code: CURLcode

    var networkError: NetworkError {
        if code == CURLE_COULDNT_CONNECT, let refused = easy.guardError { return refused }
        let (name, phase) = meaning
        var text = String(cString: easy.errorText)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        // libcurl shows the whole proxy URL there, with its password.
        if text.contains("nsupported proxy") {
            return easy.error(
                .invalidOption, "the URL of the proxy is malformed or of an unsupported kind", phase: .preparing,
                curl: Int32(bitPattern: code.rawValue))
        }
        // "Out of memory" and "too large" are libcurl's words for one line of the head, and nobody could act on them.
        if name == .headersTooLarge { text = "a header or trailer line of the response is longer than the 100 KiB that libcurl takes" }
        // It says that there was no connection, and not why.
        if name == .resources, code == CURLE_COULDNT_CONNECT {
            text = "no socket for a connection: \(String(cString: strerror(systemError)))"
        }
        // It names the host of the URL, which nobody tried to reach.
        if code == CURLE_COULDNT_CONNECT, let path = easy.loop.settings.unixSocketPath {
            text = "cannot connect to the unix socket \(path)"
        }
        return trustError(name, text) ?? easy.error(name, text, phase: phase, curl: Int32(bitPattern: code.rawValue))
    }

    private var text: String { String(cString: easy.errorText) }

    private var meaning: (NetworkError.Code, NetworkError.Phase?) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: (.nameNotResolved, .resolving)
        case CURLE_COULDNT_RESOLVE_PROXY: (.proxyNotResolved, .resolving)
        case CURLE_COULDNT_CONNECT: (connectFailure, .connecting)
        case CURLE_OPERATION_TIMEDOUT: (.connectTimeout, min(easy.phase, .securing))
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: (easy.phase >= .sending ? .badResponse : .invalidURL, nil)
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: (.badResponse, nil)
        case CURLE_GOT_NOTHING: (.connectionLost, .awaitingResponse)
        case CURLE_PARTIAL_FILE: (.truncatedBody, .receiving)
        case CURLE_SEND_ERROR: (.connectionLost, easy.channel == nil ? nil : .sending)
        case CURLE_RECV_ERROR: (receiveFailure, nil)
        case CURLE_HTTP2, CURLE_HTTP2_STREAM: (easy.hasHead ? .truncatedBody : .connectionLost, nil)
        case CURLE_SEND_FAIL_REWIND: (.bodyNotReplayable, .sending)
        case CURLE_SSL_CONNECT_ERROR: (tlsFailure, .securing)
        case CURLE_PEER_FAILED_VERIFICATION: (certificateFailure, .securing)
        case CURLE_SSL_CERTPROBLEM: (.clientCertificateFailed, .securing)
        case CURLE_SSL_CACERT_BADFILE: (.fileUnreadable, .securing)
        case CURLE_SSL_CIPHER, CURLE_SSL_ENGINE_INITFAILED, CURLE_SSL_ISSUER_ERROR, CURLE_USE_SSL_FAILED: (.tlsFailed, .securing)
        case CURLE_PROXY: (.proxyFailed, .connecting)
        // Up to 8.5 a header line beyond 100 KiB is "out of memory", later CURLE_TOO_LARGE.
        case CURLE_OUT_OF_MEMORY where easy.phase >= .awaitingResponse: (.headersTooLarge, nil)
        case CURLcode(rawValue: 100): (.headersTooLarge, nil)
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT: (.resources, nil)
        // A fold before the first field; a trailer line that is no field; `0x3` is read as the last chunk, and its data as trailers.
        case CURLE_BAD_FUNCTION_ARGUMENT where easy.hasHead || easy.phase >= .awaitingResponse: (.badResponse, nil)
        case CURLE_INTERFACE_FAILED: (.connectionFailed, .connecting)
        default: (.other, nil)
        }
    }

    private var systemError: Int32 {
        let system = Int32(easy.info.number(CURLINFO_OS_ERRNO))
        // libcurl does not ask why its callback gave no socket.
        return system == 0 ? easy.socketError : system
    }

    private var connectFailure: NetworkError.Code {
        switch systemError {
        case ECONNREFUSED: .connectionRefused
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: .resources
        default:
            // From libcurl 8.17 or so on a tunnel that is refused is a connection that failed.
            text.contains("CONNECT tunnel") ? .proxyFailed : text.contains("nsupported proxy") ? .invalidOption : .connectionFailed
        }
    }

    /// The end of the connection, with no close_notify before it, where libcurl takes that for an error.
    var isUnexpectedEnd: Bool { code == CURLE_RECV_ERROR && Self.isUnexpectedEnd(text) }

    /// libcurl's words for it have changed with its own versions and OpenSSL's: SSL_R_UNEXPECTED_EOF_WHILE_READING, SSL_ERROR_SYSCALL with no
    /// errno (or the one of an earlier call: a read that had to wait), and words of its own. (pure)
    static func isUnexpectedEnd(_ text: String) -> Bool {
        if text.contains("unexpected eof") || text.contains("closed abruptly") { return true }
        // Behind "error:" stands what else OpenSSL has found: an alert, a record that does not verify.
        return text.contains("SSL_read") && !text.contains("error:") && (text.hasSuffix("errno 0") || text.hasSuffix("errno \(EAGAIN)"))
    }

    private var receiveFailure: NetworkError.Code {
        // libcurl 7.88 reports three different things as "receive error".
        let text = text
        if isUnexpectedEnd {
            // As over TCP: a head of which a part came is no head.
            return easy.hasHead ? .truncatedBody : easy.parser.isInHead ? .badResponse : .connectionLost
        }
        // TLS 1.3 servers refuse a missing client certificate after the handshake, with an alert.
        if text.contains("alert"), text.contains("certificate") { return .clientCertificateFailed }
        if text.contains("CONNECT") || text.contains("proxy") || text.contains("Proxy") { return .proxyFailed }
        // A line of the trailers beyond libcurl's own limit.
        if text.contains("memory in chunked") { return .headersTooLarge }
        if text.contains("chunk") || text.contains("hexadecimal") || text.contains("Illegal") || text.contains("Malformed") {
            return .badResponse
        }
        return .connectionLost
    }

    private var tlsFailure: NetworkError.Code {
        let text = text
        return text.contains("certificate required") || text.contains("handshake failure") && text.contains("alert")
            ? .clientCertificateFailed : .tlsFailed
    }

    /// X509_V_ERR_* of openssl/x509_vfy.h, which other TLS libraries of libcurl use too or leave at zero.
    private var certificateFailure: NetworkError.Code {
        switch easy.info.number(CURLINFO_SSL_VERIFYRESULT) {
        case 9, 10: .certificateExpired
        case 62: .certificateWrongHost
        // libcurl compares the names itself, before it looks at the result.
        case _ where text.contains("subject name") || text.contains("target host"): .certificateWrongHost
        default: text.contains("expired") ? .certificateExpired : .certificateUntrusted
        }
    }
}

extension NetworkError {
    static func cancelledTransfer(_ easy: CurlEasy) -> NetworkError { easy.error(.cancelled, "the transfer was cancelled") }
    static func stopped(_ easy: CurlEasy) -> NetworkError { easy.error(.shutdown, "the transport was shut down") }
}
