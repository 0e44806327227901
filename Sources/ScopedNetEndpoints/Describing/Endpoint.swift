public import FoundationEssentials
public import HTTPTypes
public import ScopedNet

/// One call of a server: its place, what it sends and what comes back. Everything but the path has a default.
///
/// ```swift
/// struct SearchStories: Endpoint, Encodable {
///     typealias Value = [Story]
///     let text: String
///     var page = 1
///     var path: String { "search" }
/// }
/// let stories = try await client.send(SearchStories(text: "swift"), in: bag)
/// ```
///
/// An endpoint that is `Encodable` sends its own properties: in the query of a GET, HEAD or DELETE, as JSON in the body of every other method, or as
/// `content` says. Leave out what belongs into the path alone with `CodingKeys`. An endpoint is a value: send it as often as you like.
public protocol Endpoint: Sendable {
    /// The type that the response is made into. For `Decodable` ones JSON is read; `Data`, `String` and `Void` are the body, its text and nothing.
    associatedtype Value: Sendable
    /// The document with which the server refuses, for ``APIService/failure(_:document:of:)``. Default: any JSON.
    associatedtype Failure: Decodable & Sendable = JSONValue

    /// The place below the base URL of the service, or an absolute URL. With a slash at its beginning it is a place at the top of the
    /// host, past the path of the base (RFC 3986).
    var path: String { get }
    /// The request method. Default: GET.
    var method: HTTPRequest.Method { get }
    /// The content, and its place. Default: the own properties of an `Encodable` endpoint, nothing for others.
    var content: EndpointContent { get }
    /// The header fields of this call, which replace those of the service. Default: none.
    var headers: HeaderFields { get }
    /// True to ask the service's `cdnURL`, where it has one. Default: false.
    var usesCDN: Bool { get }
    /// Makes the value. Default: by its type.
    var decoder: ResponseDecoder<Value> { get }
    /// The place of the body. Default: memory. ``EndpointDestination/file(_:)`` makes a download of the endpoint.
    var destination: EndpointDestination<Value> { get }
    /// Looks at the own properties before anything is sent. Default: nothing.
    ///
    /// - Throws: anything, to refuse the call: as ``APIService/adapt(_:)``.
    func validate() throws
    /// Sets the options of this call (cache, priority, release, repeats, retry, …), behind the service's. Default: nothing.
    func configure(_ options: inout RequestOptions)
}

extension Endpoint {
    /// GET.
    public var method: HTTPRequest.Method { .get }
    /// Nothing.
    public var content: EndpointContent { .none }
    /// None.
    public var headers: HeaderFields { [:] }
    /// False.
    public var usesCDN: Bool { false }
    /// Memory.
    public var destination: EndpointDestination<Value> { .memory }
    /// Does nothing.
    public func validate() throws {}
    /// Does nothing.
    public func configure(_ options: inout RequestOptions) {}
}

extension Endpoint where Self: Encodable {
    /// The own properties: the query of a method without a body, else JSON.
    public var content: EndpointContent { [.get, .head, .delete].contains(method) ? .query(self) : .json(self) }
}

extension Endpoint where Value: Decodable {
    /// JSON, by the session's coding.
    public var decoder: ResponseDecoder<Value> { .json(Value.self) }
}

extension Endpoint where Value == Data {
    /// The body as it is.
    public var decoder: ResponseDecoder<Data> { .data }
}

extension Endpoint where Value == String {
    /// The body as text.
    public var decoder: ResponseDecoder<String> { .text }
}

extension Endpoint where Value == Data? {
    /// The body as it is; nil for an empty one.
    public var decoder: ResponseDecoder<Data?> { ResponseDecoder<Data>.data.map { $0.isEmpty ? nil : $0 } }
}

extension Endpoint where Value == String? {
    /// The body as text; nil for an empty one.
    public var decoder: ResponseDecoder<String?> { ResponseDecoder<String>.text.map { $0.isEmpty ? nil : $0 } }
}

extension Endpoint where Value == Void {
    /// Nothing is made of the body.
    public var decoder: ResponseDecoder<Void> { .discarding }
}
