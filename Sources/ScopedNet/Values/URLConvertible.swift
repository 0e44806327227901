public import FoundationEssentials

/// The target of a request: an absolute URL, or a reference that is resolved against the session's base URL (RFC 3986 section 5).
///
/// `String`, `Substring` and `URL` are given; your own type conforms to be usable wherever a request takes a URL. What is not valid
/// fails the start with `invalidURL`. URLs that are reported are the text that was sent, because `URL(string:)` changes some characters.
public protocol URLConvertible {
    /// The URL or the reference as text.
    var urlReference: String { get }
}

extension String: URLConvertible {
    /// The text itself.
    public var urlReference: String { self }
}

extension Substring: URLConvertible {
    /// The text itself.
    public var urlReference: String { String(self) }
}

extension URL: URLConvertible {
    /// The absolute URL.
    public var urlReference: String { absoluteString }
}
