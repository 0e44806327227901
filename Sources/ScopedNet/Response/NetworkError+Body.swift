extension NetworkError {
    /// Decodes the body of an unacceptable or undecodable response with a decoder. The media types that it expects do not matter here.
    ///
    /// - Throws: what the decoder throws, and ``NetworkError/EmptyBody`` where there is no body. Only the first `errorBodyBytes` of it are there (64
    ///   KiB by default).
    public func decoded<Value: Sendable>(by decoder: ResponseDecoder<Value>) throws -> Value {
        try errorBody.decoded(by: decoder, head: response)
    }

    /// The same error, its body to be decoded as the session's others are.
    func decoding(by coding: JSONCoding, _ document: any Document.Type) -> NetworkError {
        guard body != nil else { return self }
        var error = self
        if !coding.isStandard { error.errorBody.coding = coding }
        if document != ProblemDetails.self { error.errorBody.documentType = document }
        return error
    }

    static func unacceptableType(_ head: ResponseHead) -> NetworkError {
        let type = head["content-type"].flatMap { $0.isEmpty ? nil : "the server sent \($0)" } ?? "the server did not say what it sent"
        var error = NetworkError(
            .unacceptableContentType, phase: .decoding,
            message: "\(type), which was not expected; set `validation.contentTypes` in the request's options to have it nevertheless")
        error.response = head
        return error
    }
}
