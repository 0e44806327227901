public import ScopedNet

/// A server as a program sees it: its base URL, what all of its calls have in common, and its errors. A struct or a class.
///
/// ```swift
/// struct Stories: APIService {
///     let environment: Environment
///     var baseURL: String { environment == .release ? "https://hn.example/v0/" : "https://staging.hn.example/v0/" }
///     var headers: HeaderFields { ["X-Client": "reader/1.0"] }
/// }
/// let client = APIClient(Stories(environment: .release), session: session)
/// ```
///
/// Everything is asked anew for each request: a service whose environment can be switched answers with another base URL from then on, and what was
/// started before goes on where it is. A part of an API refines the whole: its `parent` is asked first.
///
/// The methods are called where a request is made, and `failure` also where a closure runs: any thread.
public protocol APIService: Sendable {
    /// The type of its errors, which the service names: a nested `Failure`, or a typealias. Default: those of the library.
    associatedtype Failure: Error = NetworkError

    /// The service that this one is a part of. Default: nil. Of more than 32 in a row, the outermost are passed over.
    var parent: (any APIService)? { get }
    /// The URL that paths are relative to, with or without a slash at its end. Default: empty, which stands for that of the parent.
    var baseURL: String { get }
    /// The base URL for endpoints that ask for it (``Endpoint/usesCDN``). Default: nil, which stands for that of the parent.
    var cdnURL: String? { get }
    /// Header fields of every call. Default: none besides the parent's.
    var headers: HeaderFields { get }
    /// Interceptors around each call, the parent's outside: they see stored responses, too (but for the one that `.thenNetwork` shows first), may
    /// change what comes back, and decide whether it is a failure.
    /// Default: none.
    var interceptors: [any Interceptor] { get }
    /// Told that calls, batches and chains begin and end, the parent's first. Default: none.
    var accessories: [Accessory] { get }

    /// Sets options of every call, such as credentials, behind the parent's and before the endpoint's. Default: nothing.
    func configure(_ options: inout RequestOptions)
    /// Changes a call before its URL is made of it: path, query, fields and body. Absolute paths come by, too. The path that all
    /// services have left is resolved against the base URL.
    ///
    /// - Throws: anything, to refuse the call: it is the `underlying` of `invalidParameters`, and nothing is sent. A `NetworkError` is the failure itself.
    func adapt(_ call: inout APICall) throws
    /// Makes the error of the service.
    ///
    /// - Parameters:
    ///   - error: the library's error; a cancellation, too.
    ///   - document: the document that came with a refusal; nil where there is none of that form.
    ///   - endpoint: the call.
    /// - Returns: the error. Default for services without errors of their own: `error`.
    func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> Failure
}

extension APIService {
    /// None.
    public var parent: (any APIService)? { nil }
    /// That of the parent.
    public var baseURL: String { "" }
    /// That of the parent.
    public var cdnURL: String? { nil }
    /// None.
    public var headers: HeaderFields { [:] }
    /// None.
    public var interceptors: [any Interceptor] { [] }
    /// None.
    public var accessories: [Accessory] { [] }
    /// Does nothing.
    public func configure(_ options: inout RequestOptions) {}
    /// Changes nothing.
    public func adapt(_ call: inout APICall) throws {}

    /// The services from the outermost to this one.
    var lineage: [any APIService] {
        // Most have none: an array of one.
        guard var next = parent else { return [self] }
        var services: [any APIService] = [self]
        // One that is its own parent would never end.
        while services.count < 32, !services.contains(where: { Self.isSame($0, next) }) {
            services.append(next)
            guard let parent = next.parent else { break }
            next = parent
        }
        return services.reversed()
    }

    private static func isSame(_ one: any APIService, _ other: any APIService) -> Bool {
        guard type(of: one) is AnyClass, type(of: other) is AnyClass else { return false }
        return one as AnyObject === other as AnyObject
    }

    var allAccessories: [Accessory] { parent == nil ? accessories : lineage.flatMap { $0.accessories } }
}

extension APIService where Failure == NetworkError {
    /// The error as it is.
    public func failure<E: Endpoint>(_ error: NetworkError, document: E.Failure?, of endpoint: E) -> NetworkError { error }
}
