public import FoundationEssentials
public import HTTPTypes

/// Uploads: bytes, a file, a form, or a sequence that is made while it is sent. POST unless told otherwise.
///
/// Nothing is sent before a start or an `await`; see ``Request``. `onUploadProgress` hears how far it has come. URL, query, headers, `as` and
/// `decoder` are those of the verbs: `upload(…, as: Receipt.self)`.
extension Session {
    /// Something to upload in one piece: `Data`, the `URL` of a file, or a ``MultipartForm``.
    ///
    /// - Bytes in memory can be sent again by redirects and retries.
    /// - A file is read while it is sent, and can be sent again. Its type is what the file's extension stands for, unless the call or the
    ///   session names one. The start fails with `fileUnreadable` where it cannot be read, and with `invalidOption` where the URL is none of
    ///   a file.
    /// - A form is sent with the type that names its boundary, and can be sent again if its parts can.
    public protocol UploadSource {
        /// The body that is sent.
        var uploadBody: RequestBody { get }
    }

    /// Uploads bytes, a file or a form.
    ///
    /// Without `contentType` what `headers`, the source or the session name is sent, if anything.
    public func upload<Value: Decodable & Sendable>(
        _ url: some URLConvertible, from source: some UploadSource, contentType: String? = nil, method: HTTPRequest.Method = .post,
        query: Parameters = [:], headers: HeaderFields = [:], as type: Value.Type = Data.self, fileID: StaticString = #fileID,
        line: Int = #line
    ) -> Request<Value> {
        make(method, url, query, headers.ofType(contentType), source.uploadBody, .reading(type), CodeOrigin(fileID, line))
    }

    /// Uploads bytes, a file or a form; what is answered does not matter.
    ///
    /// Without `contentType` what `headers`, the source or the session name is sent, if anything.
    public func upload(
        _ url: some URLConvertible, from source: some UploadSource, contentType: String? = nil, method: HTTPRequest.Method = .post,
        query: Parameters = [:], headers: HeaderFields = [:], as type: Void.Type, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Void> {
        make(method, url, query, headers.ofType(contentType), source.uploadBody, .discarding, CodeOrigin(fileID, line))
    }

    /// Uploads bytes, a file or a form; the value is what `decoder` makes of the response.
    ///
    /// Without `contentType` what `headers`, the source or the session name is sent, if anything.
    public func upload<Value: Sendable>(
        _ url: some URLConvertible, from source: some UploadSource, contentType: String? = nil, method: HTTPRequest.Method = .post,
        query: Parameters = [:], headers: HeaderFields = [:], decoder: ResponseDecoder<Value>, fileID: StaticString = #fileID,
        line: Int = #line
    ) -> Request<Value> {
        make(method, url, query, headers.ofType(contentType), source.uploadBody, decoder, CodeOrigin(fileID, line))
    }

    /// Uploads a sequence, pulled with backpressure. See ``RequestBody/stream(_:length:isReplayable:)`` for its parameters.
    public func upload<Value: Decodable & Sendable, Bytes: AsyncSequence & Sendable>(
        _ url: some URLConvertible, from bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false, contentType: String? = nil,
        method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:], as type: Value.Type = Data.self,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> where Bytes.Element == Data {
        let body = RequestBody.stream(bytes, length: length, isReplayable: isReplayable)
        return make(method, url, query, headers.ofType(contentType), body, .reading(type), CodeOrigin(fileID, line))
    }

    /// Uploads a sequence, pulled with backpressure; what is answered does not matter. See ``RequestBody/stream(_:length:isReplayable:)`` for its parameters.
    public func upload<Bytes: AsyncSequence & Sendable>(
        _ url: some URLConvertible, from bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false, contentType: String? = nil,
        method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:], as type: Void.Type,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Void> where Bytes.Element == Data {
        let body = RequestBody.stream(bytes, length: length, isReplayable: isReplayable)
        return make(method, url, query, headers.ofType(contentType), body, .discarding, CodeOrigin(fileID, line))
    }

    /// Uploads a sequence, pulled with backpressure; the value is what `decoder` makes of the response. See ``RequestBody/stream(_:length:isReplayable:)`` for its parameters.
    public func upload<Value: Sendable, Bytes: AsyncSequence & Sendable>(
        _ url: some URLConvertible, from bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false, contentType: String? = nil,
        method: HTTPRequest.Method = .post, query: Parameters = [:], headers: HeaderFields = [:], decoder: ResponseDecoder<Value>,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> where Bytes.Element == Data {
        let body = RequestBody.stream(bytes, length: length, isReplayable: isReplayable)
        return make(method, url, query, headers.ofType(contentType), body, decoder, CodeOrigin(fileID, line))
    }
}

extension Data: Session.UploadSource {
    /// The bytes as they are.
    public var uploadBody: RequestBody { .data(self) }
}

extension URL: Session.UploadSource {
    /// The content of the file at the time it is sent.
    public var uploadBody: RequestBody { .uploading(self) }
}

extension MultipartForm: Session.UploadSource {
    /// The parts, in their order.
    public var uploadBody: RequestBody { .multipart(self) }
}

extension HeaderFields {
    fileprivate func ofType(_ type: String?) -> HeaderFields {
        guard let type else { return self }
        var fields = self
        fields[.contentType] = nil
        fields.append("Content-Type", type)
        return fields
    }
}

extension RequestBody {
    /// What the check before the start refuses: a URL of another scheme, and a path with its NUL, where `path` would just end.
    fileprivate static func uploading(_ file: URL) -> RequestBody {
        guard file.isFileURL else {
            var body = RequestBody.data(Data())
            body.failure = NetworkError(.invalidOption, phase: .preparing, message: "what is uploaded must be a file URL")
            return body
        }
        var body = RequestBody.file(file.path(percentEncoded: true).contains("%00") ? file.path + "\0" : file.path)
        body.contentType = MediaType.forFile(named: file.lastPathComponent)
        return body
    }
}
