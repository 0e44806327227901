import HTTPTypes

/// Labels of metrics and spans: few values each, as names that anybody could make up would make endless ones (OpenTelemetry's conventions for HTTP).
extension InterceptedRequest {
    /// The method, or `_OTHER`.
    package var methodLabel: String { Self.labels.contains(method.rawValue) ? method.rawValue : "_OTHER" }

    /// RFC 9110 section 9, PATCH (RFC 5789) and QUERY.
    private static let labels: Set<String> = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ]

    /// The code of an error of the library, `cancelled`, or the type of another one.
    package static func label(of error: any Error) -> String {
        if error is CancellationError { return "cancelled" }
        return (error as? NetworkError).map { "\($0.code)" } ?? "\(type(of: error))"
    }
}

extension URLOrigin {
    /// An IPv6 address without its brackets.
    package var plainHost: String { host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host }
}
