extension ContentDecoder {
    /// The codings this build can undo, in the order they are offered to servers.
    package static let supportedCodings: [String] = {
        var codings = ["gzip", "deflate"]
        #if Brotli
        codings.append("br")
        #endif
        #if Zstd
        codings.append("zstd")
        #endif
        return codings
    }()

    /// The value of `Accept-Encoding` that offers ``supportedCodings``: `gzip, deflate, br, zstd` with all traits on.
    package static let acceptEncodingValue = supportedCodings.joined(separator: ", ")

    /// A longer chain is no server's honest work: each link multiplies the growth. libcurl draws the line here too.
    static let maxChainLength = 5

    /// Makes the decoder for a value of `Content-Encoding`, several field lines already joined with commas.
    ///
    /// More than five codings make a decoder that fails with the first byte.
    ///
    /// - Returns: nil when the body is to be passed on untouched: there is no coding but `identity`, or one of the codings is
    ///   unknown. To undo only a part of a chain would help nobody.
    package static func make(for contentEncoding: String, limits: DecodingLimits = .default) -> ContentDecoder? {
        // Codings are listed in the order they were applied (RFC 9110 section 8.4), so the last one is undone first.
        let names = names(in: contentEncoding)
        guard names.count <= maxChainLength else {
            return ContentDecoder(stages: [RefusedCodings(count: names.count)], limits: limits)
        }
        guard !names.isEmpty, names.allSatisfy(isSupported) else { return nil }
        return ContentDecoder(stages: names.reversed().compactMap(makeStage), limits: limits)
    }

    /// Decodes a body that is in memory already.
    ///
    /// - Returns: nil when the body is to be used as it is; see ``make(for:limits:)``.
    package static func decode(
        _ bytes: [UInt8], contentEncoding: String, limits: DecodingLimits = .default
    ) throws(ContentDecodingError) -> [UInt8]? {
        guard let decoder = make(for: contentEncoding, limits: limits) else { return nil }
        // `withUnsafeBytes` rethrows untyped, so the error leaves as a value.
        return try bytes.withUnsafeBytes { input -> Result<[UInt8], ContentDecodingError> in
            var output: [UInt8] = []
            do throws(ContentDecodingError) {
                try decoder.decode(input, appendingTo: &output)
                try decoder.finish()
                return .success(output)
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// The coding names of a list, lower-cased, without `identity` and empty elements.
    private static func names(in list: String) -> [String] {
        list.split(separator: ",").compactMap { element in
            let name = String(decoding: element.utf8.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).lowercased()
            return name.isEmpty || name == "identity" ? nil : name
        }
    }

    private static func isSupported(_ name: String) -> Bool {
        name == "x-gzip" || supportedCodings.contains(name)
    }

    private static func makeStage(_ name: String) -> (any DecodingStage)? {
        switch name {
        case "gzip", "x-gzip": return ZlibDecoder(.gzip)
        case "deflate": return ZlibDecoder(.deflate)
        #if Brotli
        case "br": return BrotliDecoder()
        #endif
        #if Zstd
        case "zstd": return ZstdDecoder()
        #endif
        default: return nil
        }
    }
}
