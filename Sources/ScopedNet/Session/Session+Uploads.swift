public import FoundationEssentials
public import HTTPTypes

/// Uploads: bytes, a file, a form, or a sequence that is made while it is sent. POST unless told otherwise.
///
/// Nothing is sent before a start or an `await`; see ``Request``. `onUploadProgress` hears how far it has come. The value is the response's
/// body, or what `decoder` makes of it: `upload(…, decoder: .json(Receipt.self))`.
extension Session {
    /// Uploads bytes in memory. Can be sent again by redirects and retries.
    ///
    /// - Parameter contentType: nil sends what `headers` or the session name, if anything.
    public func upload<Value: Sendable>(
        _ url: String, from data: Data, contentType: String? = nil, method: HTTPRequest.Method = .post, headers: HTTPFields = [:],
        decoder: ResponseDecoder<Value> = ResponseDecoder<Data>.data, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        request(
            url, method: method, headers: headers.ofType(contentType), body: .data(data), decoder: decoder, fileID: fileID, line: line)
    }

    /// Uploads a file, read while it is sent. Can be sent again.
    ///
    /// The start fails with `fileUnreadable` where it cannot be read, and with `invalidOption` where the URL is none of a file.
    ///
    /// - Parameter contentType: nil takes what the file's extension stands for, unless `headers` or the session name one.
    public func upload<Value: Sendable>(
        _ url: String, from file: URL, contentType: String? = nil, method: HTTPRequest.Method = .post, headers: HTTPFields = [:],
        decoder: ResponseDecoder<Value> = ResponseDecoder<Data>.data, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        request(
            url, method: method, headers: headers.ofType(contentType), body: .uploading(file), decoder: decoder, fileID: fileID, line: line)
    }

    /// Uploads a form, with the type that names its boundary. Can be sent again if its parts can.
    public func upload<Value: Sendable>(
        _ url: String, from form: MultipartForm, method: HTTPRequest.Method = .post, headers: HTTPFields = [:],
        decoder: ResponseDecoder<Value> = ResponseDecoder<Data>.data, fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> {
        request(url, method: method, headers: headers, body: .multipart(form), decoder: decoder, fileID: fileID, line: line)
    }

    /// Uploads a sequence, pulled with backpressure. See ``RequestBody/stream(_:length:isReplayable:)`` for the parameters.
    public func upload<Value: Sendable, Bytes: AsyncSequence & Sendable>(
        _ url: String, from bytes: Bytes, length: Int64? = nil, isReplayable: Bool = false, contentType: String? = nil,
        method: HTTPRequest.Method = .post, headers: HTTPFields = [:], decoder: ResponseDecoder<Value> = ResponseDecoder<Data>.data,
        fileID: StaticString = #fileID, line: Int = #line
    ) -> Request<Value> where Bytes.Element == Data {
        let body = RequestBody.stream(bytes, length: length, isReplayable: isReplayable)
        return request(
            url, method: method, headers: headers.ofType(contentType), body: body, decoder: decoder, fileID: fileID, line: line)
    }
}

extension HTTPFields {
    fileprivate func ofType(_ type: String?) -> HTTPFields {
        guard let type else { return self }
        var fields = self
        fields[.contentType] = type
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
