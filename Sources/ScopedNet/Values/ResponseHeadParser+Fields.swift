package import HTTPTypes

/// Questions about the fields of the latest head. Names are given in lower case; those on the wire may have any.
extension ResponseHeadParser {
    /// Calls `body` with the value of the first field of that name, without allocating anything.
    /// - Returns: nil when there is no such field.
    package func withFirstValue<Result>(of name: String, _ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
        withFields { $0.withFirstValue(of: name, body) }
    }

    /// Whether there is a field of that name.
    package func contains(_ name: String) -> Bool {
        withFirstValue(of: name) { _ in true } ?? false
    }

    /// The values of all fields of that name, in order.
    package func values(of name: String) -> [String] { withFields { $0.values(of: name) } }

    /// The values of all fields of that name as one list, joined with commas (RFC 9110 section 5.3), or nil when there is none.
    /// Not for `Set-Cookie`, whose values contain commas of their own.
    package func value(of name: String) -> String? { withFields { $0.value(of: name) } }

    /// The number of bytes `Content-Length` announces, or nil when it is absent.
    ///
    /// Strict: digits only, and if it is there several times (as lines, or as a list), all must agree (RFC 9112 section 6.3).
    package func contentLength() throws(ResponseHeadError) -> Int64? {
        switch declaredLength {
        case .none: return nil
        case .bytes(let count): return count
        case .unclear:
            let result = withFields { fields -> Swift.Result<Int64?, ResponseHeadError> in
                do throws(ResponseHeadError) { return .success(try fields.contentLength()) } catch { return .failure(error) }
            }
            return try result.get()
        }
    }

    /// All fields of the latest head, in order.
    package func fields() -> HTTPFields { withFields { $0.fields() } }

    /// All trailer fields, in order. Complete when the body is.
    package func trailerFields() -> HTTPFields { trailer.withBytes { FieldLines(bytes: $0).fields() } }

    private func withFields<Result>(_ body: (FieldLines) -> Result) -> Result {
        head.withBytes { body(FieldLines(bytes: UnsafeRawBufferPointer(rebasing: $0[fieldsStart...]))) }
    }
}
