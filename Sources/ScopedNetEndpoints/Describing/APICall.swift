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
    public let endpoint: String
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

    /// True where the path is a URL of its own, and no base is put before it.
    public var isAbsolute: Bool {
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
}
