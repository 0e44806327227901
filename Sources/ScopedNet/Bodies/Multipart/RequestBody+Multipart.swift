import FoundationEssentials

extension RequestBody {
    /// A form with files, with its own `Content-Type`, which goes before every other. It is streamed; a small one whose parts are all in memory
    /// is sent in one piece. A form without parts is an empty `application/x-www-form-urlencoded` one.
    ///
    /// With GET or HEAD the start fails with `invalidOption`, for content with the boundary that was chosen with `invalidParameters`.
    public static func multipart(_ form: MultipartForm) -> RequestBody {
        guard !form.isEmpty else { return RequestBody(content: .data(Data()), contentType: formType) }
        guard !form.holdsItsBoundary else {
            return RequestBody(
                content: .data(Data()), failure: .invalidParameters("a part holds the boundary chosen for the multipart form"))
        }
        if let data = form.inMemory(upTo: 64 << 10) {
            return RequestBody(content: .data(data), contentType: form.contentType, isMultipart: true)
        }
        let source = UploadSource(length: form.contentLength, isReplayable: form.isReplayable) { stream in
            try await form.write { try await stream.send($0) }
        }
        return RequestBody(content: .stream(source), contentType: form.contentType, isMultipart: true)
    }
}
