/// An endpoint whose value is shared by all who look at it.
///
/// ```swift
/// struct GetProfile: QueryEndpoint {
///     typealias Value = Profile
///     let id: Int
///     var path: String { "users/\(id)" }
///     var tags: Set<QueryTag> { ["profiles"] }
/// }
/// ```
///
/// Equal endpoints are one query.
public protocol QueryEndpoint: Endpoint, Hashable {
    /// The names by which it is invalidated, besides its own. Default: none.
    var tags: Set<QueryTag> { get }
    /// The time for which a value is fresh: whoever begins to look at it gets it without a request. Default: zero.
    var staleTime: Duration { get }
    /// The time for which a value is kept that nobody looks at. Default: five minutes.
    var cacheTime: Duration { get }
}

extension QueryEndpoint {
    /// None.
    public var tags: Set<QueryTag> { [] }
    /// Zero: a value is asked for again, and shown until then.
    public var staleTime: Duration { .zero }
    /// Five minutes.
    public var cacheTime: Duration { .seconds(300) }
}

/// A name that several queries share, to invalidate them together.
public struct QueryTag: Hashable, Sendable, ExpressibleByStringLiteral {
    /// The name.
    public let name: String

    /// Makes a tag.
    public init(_ name: String) { self.name = name }

    /// Makes a tag of a literal.
    public init(stringLiteral name: String) { self.name = name }
}

/// A query as those see it who look at it.
public struct QueryState<Value: Sendable, Failure: Error>: Sendable {
    /// The last value, with the edits that are under way; nil before the first one.
    public let value: Value?
    /// The error of the last request; nil after a success.
    public let error: Failure?
    /// True while a request is under way.
    public let isFetching: Bool
    /// True while an optimistic edit waits for its mutation.
    public let isEdited: Bool
}
