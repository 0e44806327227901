import CCurl

/// curl_easy_setopt(3) by type. An option that this libcurl refuses is an error to the caller, never a trap.
///
/// A transfer without one of its options would be another transfer, to another memory or with less care, so the first failure is kept
/// until ``TransferSetup`` asks.
struct CurlOptions: ~Copyable {
    let easy: CurlEasy
    var handle: UnsafeMutableRawPointer { easy.handle }

    func set(_ option: CURLoption, _ value: Int) { note(scurl_set_long(handle, option, value)) }
    func set(_ option: CURLoption, large value: Int64) { note(scurl_set_off(handle, option, curl_off_t(value))) }
    /// libcurl copies the text.
    func set(_ option: CURLoption, _ value: String?) { note(scurl_set_string(handle, option, value)) }
    func set(_ option: CURLoption, _ value: UnsafeMutableRawPointer?) { note(scurl_set_pointer(handle, option, value)) }

    func note(_ code: CURLcode) { easy.options.note(code) }

    /// For options the caller set and would miss.
    func require(_ option: CURLoption, _ value: String, _ name: String) throws(NetworkError) {
        try check(scurl_set_string(handle, option, value), name)
    }

    /// libcurl copies the bytes.
    func require(_ option: CURLoption, blob text: String, _ name: String) throws(NetworkError) {
        var text = text
        let code = text.withUTF8 { bytes in
            bytes.baseAddress.map { scurl_set_blob(handle, option, $0, bytes.count) } ?? CURLE_BAD_FUNCTION_ARGUMENT
        }
        try check(code, name)
    }

    private func check(_ code: CURLcode, _ name: String) throws(NetworkError) {
        guard code == CURLE_OK else {
            throw NetworkError(
                .invalidOption, phase: .preparing, message: "\(name): \(String(cString: curl_easy_strerror(code)))",
                curlCode: Int32(bitPattern: code.rawValue))
        }
    }
}
