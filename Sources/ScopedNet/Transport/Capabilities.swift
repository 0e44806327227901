import CCurl
import CTLS

/// What the libcurl this process runs on can do, what it lacks, and what is done instead. Print it.
public struct Capabilities: Sendable, Hashable, CustomStringConvertible {
    /// "7.88.1"
    public let curlVersion: String
    /// major << 16 | minor << 8 | patch, as libcurl counts.
    public let curlVersionNumber: UInt32
    /// "OpenSSL/3.0.19"; empty without TLS.
    public let tlsLibrary: String
    /// HTTP/2 over TLS; without it everything is HTTP/1.1.
    public let hasHTTP2: Bool
    /// HTTP/3. No request asks for it at present.
    public let hasHTTP3: Bool
    /// Addresses of IPv6.
    public let hasIPv6: Bool
    /// Sockets of unix(7), for ``ConnectionSettings/unixSocketPath``.
    public let hasUnixSockets: Bool
    /// Name resolution that does not block the network thread.
    public let hasAsynchronousDNS: Bool
    /// Content codings this library decodes by itself.
    public let contentCodings: [String]

    /// The capabilities of this process. Initializes libcurl at the first call.
    public static let current = Capabilities()

    private init() {
        CurlGlobal.prepare()
        let info = curl_version_info(CURLVERSION_TENTH).pointee
        func has(_ feature: Int32) -> Bool { info.features & feature != 0 }
        curlVersion = info.version.map { String(cString: $0) } ?? ""
        curlVersionNumber = info.version_num
        tlsLibrary = info.ssl_version.map { String(cString: $0) } ?? ""
        hasHTTP2 = has(CURL_VERSION_HTTP2)
        hasHTTP3 = has(CURL_VERSION_HTTP3)
        hasIPv6 = has(CURL_VERSION_IPV6)
        hasUnixSockets = has(CURL_VERSION_UNIX_SOCKETS)
        hasAsynchronousDNS = has(CURL_VERSION_ASYNCHDNS)
        contentCodings = ContentDecoder.supportedCodings
    }

    /// Pausing HTTP/2 streams is bounded only from libcurl 8 on.
    package var pausesHTTP2Safely: Bool { curlVersionNumber >= 0x080000 && !(0x081000...0x081001).contains(curlVersionNumber) }

    /// A body that goes out with its head is a part of CURLINFO_REQUEST_SIZE.
    package var countsBodiesAsHeads: Bool { curlVersionNumber < 0x080700 }

    /// A transfer that is paused inside its write callback reads nothing more. Later versions read up to ten buffers on, keep them back, and
    /// drop them with a connection that breaks off.
    package var stopsReadingWhenPaused: Bool { curlVersionNumber < 0x080000 }

    /// Several requests by prior knowledge on one plain connection (curl #10634).
    package var sharesPlainHTTP2: Bool { curlVersionNumber >= 0x080000 }

    /// To an HTTP/2 connection on which no response has come yet others are let at once. Some versions make them wait for that response
    /// (CURLOPT_PIPEWAIT(3)), which may take for ever.
    package var sharesFreshHTTP2: Bool { !(0x080D00..<0x081700).contains(curlVersionNumber) }

    /// The reset of a cancelled HTTP/2 stream is sent at once (curl #17611).
    package var sendsHTTP2Resets: Bool { curlVersionNumber >= 0x080F00 }

    /// To a server a URL's empty query is sent, mark and all; later ones drop it (CURLU_GET_EMPTY of curl_url_get(3)).
    package var sendsEmptyQueries: Bool { curlVersionNumber < 0x080800 }

    /// libcurl verifies with the OpenSSL this library is linked to. Of another one the callbacks would be called with strange pointers.
    package var sharesOpenSSL: Bool { tlsLibrary == "OpenSSL/" + String(cString: OpenSSL_version(OPENSSL_VERSION_STRING)) }

    /// A table for people, one line for each capability.
    public var description: String {
        func mark(_ available: Bool, _ name: String, otherwise: String) -> String {
            available ? "  yes  \(name)" : "  no   \(name): \(otherwise)"
        }
        return """
            libcurl \(curlVersion), \(tlsLibrary.isEmpty ? "no TLS" : tlsLibrary)
            \(mark(!tlsLibrary.isEmpty, "TLS", otherwise: "https requests fail with tlsFailed"))
            \(mark(hasHTTP2, "HTTP/2", otherwise: "HTTP/1.1 is used"))
            \(mark(pausesHTTP2Safely, "bounded HTTP/2 pausing", otherwise: "streamed responses and large uploads use HTTP/1.1"))
            \(mark(hasHTTP3, "HTTP/3", otherwise: "not offered; HTTP/2 is used"))
            \(mark(hasIPv6, "IPv6", otherwise: "IPv4 only"))
            \(mark(hasUnixSockets, "unix sockets", otherwise: "unixSocketPath fails"))
            \(mark(hasAsynchronousDNS, "asynchronous DNS", otherwise: "a slow name lookup holds up the network thread"))
              codings decoded: \(contentCodings.joined(separator: ", ")); others are passed through as they came
            """
    }
}
