extension RequestOptions {
    /// - Throws: ``NetworkError`` with the code `invalidOption` for a rate that nothing could be sent at, for a limit below zero and for less
    ///   than one attempt.
    func checkLimits() throws(NetworkError) {
        for (name, rate) in [("maxUploadRate", maxUploadRate), ("maxDownloadRate", maxDownloadRate)] {
            if let rate, rate <= 0 { throw .badLimit("\(name) must be positive; use nil for no limit") }
        }
        if let most = maxDownloadBytes, most < 0 { throw .badLimit("maxDownloadBytes must not be negative; use nil for no limit") }
        if maxBodyBytes < 0 { throw .badLimit("maxBodyBytes must not be negative") }
        if maxHeaderBytes < 0 { throw .badLimit("maxHeaderBytes must not be negative") }
        if redirects.maxRedirects < 0 { throw .badLimit("maxRedirects must not be negative; the mode .never follows none") }
        if retry.maxAttempts < 1 { throw .badLimit("maxAttempts must be at least 1; use RetryPolicy.none not to retry") }
    }

    var limitsRates: Bool { maxUploadRate != nil || maxDownloadRate != nil }
}

extension NetworkError {
    fileprivate static func badLimit(_ message: String) -> NetworkError {
        NetworkError(.invalidOption, phase: .preparing, message: message)
    }
}
