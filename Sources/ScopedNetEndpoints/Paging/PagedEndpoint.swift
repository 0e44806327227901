public import ScopedNet

/// A list that comes in pages.
///
/// ```swift
/// struct ListStories: PagedEndpoint, Encodable {
///     typealias Element = Story
///     var page = 1
///     var path: String { "stories" }
///     var nextPage: NextPage<Self> { .number(\.page) }
/// }
/// for try await story in client.pages(of: ListStories(), in: bag).elements { show(story) }
/// ```
public protocol PagedEndpoint: Endpoint {
    /// An element of the list.
    associatedtype Element: Sendable
    /// A page. Default: an array of elements.
    associatedtype Value = [Element]

    /// The way from a page to the next one.
    var nextPage: NextPage<Self> { get }
    /// The elements of a page. Default for pages that are arrays: those.
    func elements(of page: Value) -> [Element]
}

extension PagedEndpoint where Value == [Element] {
    /// The page is its elements.
    public func elements(of page: [Element]) -> [Element] { page }
}

/// The way from a page of a ``PagedEndpoint`` to the next one, or to the end.
public struct NextPage<E: PagedEndpoint>: Sendable {
    /// The place of a page.
    enum Place: Sendable {
        case endpoint(E)
        /// As a server linked to it: the endpoint's own query is part of it.
        case link(E, String)

        var endpoint: E {
            switch self {
            case .endpoint(let endpoint), .link(let endpoint, _): endpoint
            }
        }
    }

    let place: @Sendable (Place, Response<E.Value>) -> Place?

    /// Makes a way of your own: the endpoint of the next page, from that of this one and its response; nil where this is the last.
    public init(_ next: @escaping @Sendable (E, Response<E.Value>) -> E?) {
        place = { place, response in next(place.endpoint, response).map { .endpoint($0) } }
    }

    private init(place: @escaping @Sendable (Place, Response<E.Value>) -> Place?) { self.place = place }

    /// Counts pages. The last one is empty, or has fewer elements than `size`, where that is known.
    public static func number(_ path: any WritableKeyPath<E, Int> & Sendable, size: Int? = nil) -> NextPage {
        NextPage { endpoint, response in
            let count = endpoint.elements(of: response.value).count
            guard count > 0, count >= size ?? 0 else { return nil }
            var next = endpoint
            next[keyPath: path] += 1
            return next
        }
    }

    /// Counts elements. The last page is empty, or has fewer elements than `size`, where that is known.
    public static func offset(_ path: any WritableKeyPath<E, Int> & Sendable, size: Int? = nil) -> NextPage {
        NextPage { endpoint, response in
            let count = endpoint.elements(of: response.value).count
            guard count > 0, count >= size ?? 0 else { return nil }
            var next = endpoint
            next[keyPath: path] += count
            return next
        }
    }

    /// Sends what the page names as the next one: nil on the last page. One that names itself is the last, too.
    public static func cursor<Cursor: Equatable & Sendable>(
        _ path: any WritableKeyPath<E, Cursor?> & Sendable, from cursor: @escaping @Sendable (E.Value) -> Cursor?
    ) -> NextPage {
        NextPage { endpoint, response in
            guard let cursor = cursor(response.value), cursor != endpoint[keyPath: path] else { return nil }
            var next = endpoint
            next[keyPath: path] = cursor
            return next
        }
    }

    /// Follows the `Link` field of relation type `next` (RFC 8288), which the last page lacks. One that links to itself is the last, too.
    ///
    /// The link is asked as it is, without the query of the endpoint, and with its method, fields and options.
    public static var link: NextPage {
        NextPage(place: { place, response in
            guard let target = response.head.link("next"), let base = try? RequestURL(response.url),
                let url = try? RequestURL(target, relativeTo: base), url.string != response.url
            else { return nil }
            return .link(place.endpoint, url.string)
        })
    }
}

/// One page of a list.
public struct Page<E: PagedEndpoint>: Sendable {
    /// The place among the pages, from 0.
    public let index: Int
    /// The elements.
    public let elements: [E.Element]
    /// The response, with the page as it was decoded.
    public let response: Response<E.Value>
    /// True where none follows.
    public let isLast: Bool
    /// True for the first.
    public var isFirst: Bool { index == 0 }
}
