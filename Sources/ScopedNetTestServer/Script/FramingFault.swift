#if TestServer
/// A way for a response to break the rules of HTTP/1.1 framing.
public enum FramingFault: String, Sendable, CaseIterable {
    /// The status line is none.
    case statusLine
    /// A header line has no colon.
    case headerWithoutColon
    /// A header value holds a NUL.
    case nulInHeader
    /// Two lengths that differ.
    case twoLengths
    /// A length of less than nothing.
    case negativeLength
    /// A length with a letter in it.
    case lengthNotANumber
    /// A length longer than the body that comes before the connection closes.
    case shortBody
    /// A chunk whose size is no hexadecimal number.
    case chunkSize
    /// A chunk that is longer than its size says.
    case longChunk
    /// The connection closes before the last chunk.
    case noLastChunk
    /// A head that ends with the connection.
    case unfinishedHead
    /// Nothing at all: the connection closes.
    case silence
}

extension ScriptedResponse {
    /// A response whose framing is broken. HTTP/1 only; an HTTP/2 stream is reset.
    public static func malformed(_ fault: FramingFault) -> ScriptedResponse {
        func head(_ fields: String...) -> String {
            "HTTP/1.1 200 OK\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
        }
        let chunked = "Transfer-Encoding: chunked"
        switch fault {
        case .statusLine: return .raw("not a status line\r\nContent-Length: 0\r\n\r\n")
        case .headerWithoutColon: return .raw(head("Content-Length: 2", "this is no field") + "ok")
        case .nulInHeader: return .raw(head("Content-Length: 2", "X-Nul: a\0b") + "ok")
        case .twoLengths: return .raw(head("Content-Length: 2", "Content-Length: 5") + "hello")
        case .negativeLength: return .raw(head("Content-Length: -5") + "hello")
        case .lengthNotANumber: return .raw(head("Content-Length: 5x") + "hello")
        case .shortBody: return .raw(head("Content-Length: 10") + "hello")
        case .chunkSize: return .raw(head(chunked) + "five\r\nhello\r\n0\r\n\r\n")
        case .longChunk: return .raw(head(chunked) + "3\r\nhello\r\n0\r\n\r\n")
        case .noLastChunk: return .raw(head(chunked) + "5\r\nhello\r\n")
        case .unfinishedHead: return .raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
        case .silence: return .raw("")
        }
    }

    /// The response as a version of something: with this entity tag, ranges, and conditional requests (304, 412, `If-Range`).
    ///
    /// Script the next version with another tag, and a client that resumes gets the whole of it.
    public func tagged(_ tag: String) -> ScriptedResponse {
        with { response in
            response.headers.append("ETag", "\"\(tag)\"")
            response.acceptsRanges = true
        }
    }

    /// The response with a head that drips: so many bytes at a time. On HTTP/2 a head is one frame and comes at once.
    public func slowHead(bytes: Int = 1, every interval: Duration) -> ScriptedResponse {
        with { $0.headPace = Pace(bytes: bytes, every: interval) }
    }
}
#endif
