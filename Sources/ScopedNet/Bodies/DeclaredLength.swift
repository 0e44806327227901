import HTTPTypes

/// The `Content-Length` that a caller has set, compared with the body. (pure)
///
/// A length that is not true lets one request speak inside another (RFC 9112 section 11.2).
enum DeclaredLength {
    /// Before the start. The length of a file is known when it is opened: ``check(_:opened:)`` compares it then.
    static func check(_ fields: HTTPFields, _ body: RequestBody?) throws(NetworkError) {
        guard let declared = fields[.contentLength] else { return }
        guard let body else { return try compare(declared, 0) }
        if case .file = body.content { return }
        try compare(declared, body.length)
    }

    /// Of a body that is about to be sent.
    static func check(_ fields: HTTPFields, opened length: Int64?) throws(NetworkError) {
        guard let declared = fields[.contentLength] else { return }
        try compare(declared, length)
    }

    private static func compare(_ declared: String, _ length: Int64?) throws(NetworkError) {
        guard let length else {
            throw NetworkError(
                .invalidHeader, phase: .preparing, message: "'Content-Length' of a body whose length is not known; give the body its length"
            )
        }
        guard declared.utf8.elementsEqual("\(length)".utf8) else {
            throw NetworkError(.invalidHeader, phase: .preparing, message: "'Content-Length' is not the length of the body; leave it out")
        }
    }
}
