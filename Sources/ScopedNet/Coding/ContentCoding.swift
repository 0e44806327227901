import FoundationEssentials

/// Content codings of whole bodies.
enum ContentCoding {
    /// The decoded body, or the body itself for `identity` and codings nobody here knows.
    static func decoded(_ body: Data, coding: String, limits: DecodingLimits) throws(ContentDecodingError) -> Data {
        guard let decoder = ContentDecoder.make(for: coding, limits: limits) else { return body }
        var output = Data()
        output.reserveCapacity(body.count * 3)
        try decoder.decodeAll(body) { output.append(contentsOf: $0) }
        try decoder.finish()
        return output
    }

    /// As much of an error document as can be read.
    static func decodedPrefix(_ body: Data, coding: String, limits: DecodingLimits) -> Data {
        guard let decoder = ContentDecoder.make(for: coding, limits: limits) else { return body }
        var output = Data()
        try? decoder.decodeAll(body) { output.append(contentsOf: $0) }
        return output
    }
}

extension ContentDecoder {
    /// Decodes as much of a piece of a body as gives `most` bytes, and takes that from its front.
    ///
    /// - Returns: `most` bytes, or fewer when all of the piece was decoded.
    func takeNext(of body: inout Data, upTo most: Int) throws(ContentDecodingError) -> Data {
        var output = Data()
        let result = body.withUnsafeBytes { bytes -> Result<Int, ContentDecodingError> in
            var rest = bytes
            do throws(ContentDecodingError) {
                while output.count < most, let piece = try next(from: &rest, upTo: most - output.count) { output.append(contentsOf: piece) }
                return .success(bytes.count - rest.count)
            } catch { return .failure(error) }
        }
        body = body.dropFirst(try result.get())
        return output
    }

    /// Decodes one piece of a body.
    func decodeAll(_ body: Data, into sink: (UnsafeRawBufferPointer) -> Void) throws(ContentDecodingError) {
        let result = body.withUnsafeBytes { bytes -> Result<Void, ContentDecodingError> in
            do throws(ContentDecodingError) {
                try decode(bytes) { (piece: UnsafeRawBufferPointer) throws(ContentDecodingError) in sink(piece) }
                return .success(())
            } catch { return .failure(error) }
        }
        try result.get()
    }
}

extension NetworkError {
    init(_ error: ContentDecodingError, runID: UInt64 = 0, attempt: Int = 0) {
        let code: Code = if case .bomb = error { .decodingBomb } else { .contentDecodingFailed }
        self.init(code, phase: .decoding, message: "\(error)", runID: runID, attempt: attempt, underlying: error)
    }
}
