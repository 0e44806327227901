import FoundationEssentials

extension RequestBody {
    /// The content coding of a request body (RFC 9110 section 8.4).
    public struct Compression: Sendable, Hashable {
        let level: Int

        /// gzip (RFC 1952) at zlib's own level 6.
        public static let gzip = Compression(level: 6)

        /// gzip at a level of zlib's: 1 is the fastest, 9 the smallest.
        public static func gzip(level: Int) -> Compression { Compression(level: level) }
    }

    /// A longer body in memory is compressed while it is sent.
    private static let compressedAtOnce = 256 << 10

    /// The same body, sent with `Content-Encoding: gzip`.
    ///
    /// ```swift
    /// session.post("events", body: .json(events).compressed())
    /// ```
    ///
    /// Bytes and JSON below `minimumBytes`, 1,024 by default, are sent as they are.
    ///
    /// Those up to 256 KiB are compressed where the body is made (JSON: where the request is made), and are sent as they were where that
    /// saves nothing. Longer ones, files and sequences are compressed piece by piece while they are sent, without a `Content-Length`; each
    /// piece of a sequence goes out when it is given. What could be sent again still can be. Progress counts compressed bytes.
    ///
    /// A server that cannot undo it answers 415 (RFC 9110 section 15.5.16) or worse, and there is no second attempt without: compress for servers
    /// that are known to take it. A request that sets `Content-Encoding` itself fails with `invalidHeader`. Compressing a body twice changes nothing.
    ///
    /// - Parameters:
    ///   - compression: a level that zlib does not have fails the start with `invalidOption`.
    ///   - minimumBytes: bytes and JSON that are shorter are sent as they are. Default: 1,024, below which hardly a packet is saved.
    /// - Returns: the body that is sent compressed.
    public func compressed(_ compression: Compression = .gzip, minimumBytes: Int = 1_024) -> RequestBody {
        guard contentEncoding == nil else { return self }
        if let deferred {
            return RequestBody(
                deferred: DeferredJSON { coding in deferred.encode(coding).compressed(compression, minimumBytes: minimumBytes) })
        }
        guard failure == nil else { return self }
        guard (1...9).contains(compression.level) else {
            var body = self
            body.failure = NetworkError(
                .invalidOption, phase: .preparing, message: "gzip has no level \(compression.level); it has 1 to 9")
            return body
        }
        switch settledContent {
        case .data(let data):
            guard data.count >= max(1, minimumBytes) else { return self }
            guard data.count > Self.compressedAtOnce else { return compressed(data, compression.level) }
            return coded(.stream(.compressing(data, level: compression.level)))
        case .file(let path): return coded(.stream(.compressing(file: path, level: compression.level)))
        case .stream(let source): return coded(.stream(source.compressed(level: compression.level)))
        }
    }

    private func compressed(_ data: Data, _ level: Int) -> RequestBody {
        do throws(NetworkError) {
            let encoder = try GzipEncoder(level: level)
            let result = try encoder.encode(data, .finish)
            return result.count < data.count ? coded(.data(result)) : self
        } catch {
            var body = self
            body.failure = error
            return body
        }
    }

    private func coded(_ content: Content) -> RequestBody {
        var body = RequestBody(content: content, contentType: contentType, isMultipart: isMultipart)
        body.contentEncoding = "gzip"
        return body
    }
}

extension UploadSource {
    private static let pieceBytes = 128 << 10

    /// Bytes in memory, compressed piece by piece.
    static func compressing(_ data: Data, level: Int) -> UploadSource {
        UploadSource(length: nil, isReplayable: true) { sink in
            let encoder = try GzipEncoder(level: level)
            var start = data.startIndex
            while start < data.endIndex {
                let end = min(data.endIndex, start + pieceBytes)
                try await sink.send(try encoder.encode(data[start..<end], .more))
                start = end
            }
            try await sink.send(try encoder.encode(Data(), .finish))
        }
    }

    /// A file, read to the end it has then.
    static func compressing(file path: String, level: Int) -> UploadSource {
        UploadSource(length: nil, isReplayable: true, path: path) { sink in
            let encoder = try GzipEncoder(level: level)
            try await PiecewiseFile.read(path, upTo: pieceBytes) { try await sink.send(try encoder.encode($0, .more)) }
            try await sink.send(try encoder.encode(Data(), .finish))
        }
    }

    /// The same source, each piece compressed and flushed. A declared length is that of what goes in.
    func compressed(level: Int) -> UploadSource {
        let (length, pump) = (length, pump)
        return UploadSource(length: nil, isReplayable: isReplayable) { sink in
            let encoder = try GzipEncoder(level: level)
            try await pump(
                UploadSink { piece in
                    guard !piece.isEmpty else { return }
                    let seen = encoder.bytesTaken + Int64(piece.count)
                    if let length, seen > length { throw LengthMismatch(declared: length, seen: seen) }
                    try await sink.send(try encoder.encode(piece, .flush))
                })
            if let length, encoder.bytesTaken < length {
                throw LengthMismatch(declared: length, seen: encoder.bytesTaken)
            }
            try await sink.send(try encoder.encode(Data(), .finish))
        }
    }
}
