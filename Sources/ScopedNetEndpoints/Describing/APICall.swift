public import HTTPTypes
public import ScopedNet

/// A call that is about to be made, for ``APIService/adapt(_:)`` to change. What comes out of it is sent, and is what the cache knows it by.
public struct APICall: Sendable {
    /// The body of a call.
    public enum Body: Sendable {
        /// No body.
        case none
        /// Named values, sent as a form.
        case form(Parameters)
        /// A body of any other kind.
        case whole(RequestBody)
    }

    /// The key in `RequestOptions.userInfo` under which interceptors, observers and mocks find the endpoint of a request: `as? any Endpoint`.
    public static let endpointKey = "ScopedNetEndpoints.endpoint"

    /// The type of the endpoint, such as `SearchStories`, for logs.
    public var endpoint: String { "\(type)" }
    let type: any Endpoint.Type
    /// The place below the base URL, or an absolute URL.
    public var path: String
    /// The request method.
    public var method: HTTPRequest.Method
    /// Named values of the query.
    public var query: Parameters
    /// The fields of the services and the endpoint.
    public var headers: HeaderFields
    /// The content that is sent.
    public var body: Body

    /// True where the path names a server of its own, by a URL or as `//host/…` (RFC 3986 section 4.2), and so goes elsewhere than to the base.
    public var isAbsolute: Bool {
        if path.hasPrefix("//") { return true }
        guard let colon = path.utf8.firstIndex(of: UInt8(ascii: ":")), colon > path.startIndex, path[colon...].hasPrefix("://") else {
            return false
        }
        // A scheme (RFC 3986 section 3.1): what stands in a query is none.
        return path[..<colon].utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
    }

    /// Takes those values out of the query that a link has already: what `adapt` adds to each call, the server has put into it.
    mutating func removeQuery(of link: String) {
        guard let question = link.utf8.firstIndex(of: UInt8(ascii: "?")) else { return }
        let end = link[question...].utf8.firstIndex(of: UInt8(ascii: "#")) ?? link.endIndex
        for part in link[question..<end].dropFirst().split(separator: "&" as Character) {
            query[Self.decoded(part.utf8.prefix { $0 != UInt8(ascii: "=") })] = nil
        }
    }

    /// The text of a name in a query (RFC 3986 section 2.1).
    private static func decoded(_ name: Substring.UTF8View) -> String {
        var (bytes, rest) = ([UInt8](), name[...])
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2, let value = UInt8(String(Substring(digits)), radix: 16) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
