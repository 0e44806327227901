package import FoundationEssentials
package import HTTPTypes

/// One part of a multipart body: its header, and where its content comes from.
package struct MultipartPart: Sendable {
    package enum Content: Sendable {
        case data(Data)
        case file(path: String)
        case sequence(UploadPieces)
    }

    /// With the empty line that ends it.
    package let header: String
    package let content: Content
    /// Of the content; nil where nobody knows.
    package let length: Int64?

    package init(_ fields: HTTPFields, _ content: Content, length: Int64?) {
        header = fields.map { "\($0.name.rawName): \($0.value)\r\n" }.joined() + "\r\n"
        self.content = content
        self.length = length
    }
}

/// A sequence of pieces, to be gone through once for each time the body is sent.
package struct UploadPieces: Sendable {
    package let isReplayable: Bool
    package let forEach: @Sendable (_ send: (Data) async throws -> Void) async throws -> Void
}

/// The header of a part (RFC 7578 section 4). (pure)
package enum MultipartHeader {
    /// - Throws: `invalidHeader` for a type that is no value of a field.
    package static func fields(name: String, fileName: String?, contentType: String?) throws(NetworkError) -> HTTPFields {
        var fields: HTTPFields = [.contentDisposition: disposition(name: name, fileName: fileName)]
        if let contentType { fields[.contentType] = try HeaderField.checked("Content-Type", contentType).value }
        return fields
    }

    package static func disposition(name: String, fileName: String?) -> String {
        "form-data; name=\"\(escaped(name))\"" + (fileName.map { "; filename=\"\(escaped($0))\"" } ?? "")
    }

    /// A name in quotes, as browsers write it: UTF-8, with quotes and line ends in percent-encoding (RFC 7578 sections 2 and 5.1; WHATWG HTML,
    /// "multipart form data"). Other control characters are encoded, too, and so is a backslash: to half of the servers it escapes the quote
    /// behind it, which then ends nothing.
    package static func escaped(_ name: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "\"", "\\", "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}":
                text.append(contentsOf: PercentEncoding.escaped(String(scalar)).unicodeScalars)
            default: text.append(scalar)
            }
        }
        return String(text)
    }
}
