extension RequestOptions {
    /// - Throws: ``NetworkError`` with the code `invalidOption` for a rate that nothing could be sent at, for a limit below zero and for less
    ///   than one attempt.
    func checkLimits() throws(NetworkError) {
        for (name, rate) in [("uploadRate", limits.uploadRate), ("downloadRate", limits.downloadRate)] {
            if let rate, rate <= 0 { throw .badLimit("\(name) must be positive; use nil for no limit") }
        }
        if let most = limits.downloadBytes, most < 0 { throw .badLimit("downloadBytes must not be negative; use nil for no limit") }
        if limits.bodyBytes < 0 { throw .badLimit("bodyBytes must not be negative") }
        if limits.headerBytes < 0 { throw .badLimit("headerBytes must not be negative") }
        if redirects.maxRedirects < 0 { throw .badLimit("maxRedirects must not be negative; the mode .never follows none") }
        if retry.maxAttempts < 1 { throw .badLimit("maxAttempts must be at least 1; use RetryPolicy.none not to retry") }
    }

    var limitsRates: Bool { limits.uploadRate != nil || limits.downloadRate != nil }
}

extension NetworkError {
    fileprivate static func badLimit(_ message: String) -> NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: message)
    }
}
