extension RequestOptions {
    /// - Throws: ``NetworkError`` with the code `invalidOption` for a rate that nothing could be sent at.
    func checkRates() throws(NetworkError) {
        for (name, rate) in [("maxUploadRate", maxUploadRate), ("maxDownloadRate", maxDownloadRate)] {
            guard let rate, rate <= 0 else { continue }
            throw NetworkError(.invalidOption, phase: .preparing, message: "\(name) must be positive; use nil for no limit")
        }
    }

    var limitsRates: Bool { maxUploadRate != nil || maxDownloadRate != nil }
}
