extension RequestOptions {
    /// - Throws: ``NetworkError`` with the code `invalidOption` for a rate that nothing could be sent at, and for a negative limit.
    func checkLimits() throws(NetworkError) {
        for (name, rate) in [("maxUploadRate", maxUploadRate), ("maxDownloadRate", maxDownloadRate)] {
            guard let rate, rate <= 0 else { continue }
            throw NetworkError(.invalidOption, phase: .preparing, message: "\(name) must be positive; use nil for no limit")
        }
        guard let most = maxDownloadBytes, most < 0 else { return }
        throw NetworkError(.invalidOption, phase: .preparing, message: "maxDownloadBytes must not be negative; use nil for no limit")
    }

    var limitsRates: Bool { maxUploadRate != nil || maxDownloadRate != nil }
}
