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
    struct Place: Sendable {
        let endpoint: E
        /// As a server linked to it: the endpoint's own query is part of it.
        var link: String?
        /// The server that was asked for this page, before redirects.
        var origin: RequestURL.Origin?
        /// The server's way leads where nobody may go.
        var refusal: NetworkError?
        /// The name of this place, where the server gives one; to know it again.
        var mark: String?
        var trail = PageTrail()
    }

    private let place: @Sendable (Place, Response<E.Value>) -> Place?
    /// True where the server names URLs, which have to be of the server that was asked.
    let followsLinks: Bool

    /// Makes a way of your own: the endpoint of the next page, from that of this one and its response; nil where this is the last.
    public init(_ next: @escaping @Sendable (E, Response<E.Value>) -> E?) {
        place = { place, response in next(place.endpoint, response).map { Place(endpoint: $0) } }
        followsLinks = false
    }

    private init(followsLinks: Bool = false, place: @escaping @Sendable (Place, Response<E.Value>) -> Place?) {
        (self.followsLinks, self.place) = (followsLinks, place)
    }

    /// The place behind this one; nil where there is none, and where the server leads round in a circle.
    func following(_ place: Place, _ response: Response<E.Value>) -> Place? {
        guard var next = self.place(place, response) else { return nil }
        (next.trail, next.origin) = (place.trail, place.origin)
        return next.trail.passes(next.mark) ? next : nil
    }

    /// Counts pages. The last one is empty, or has fewer elements than `size`, where that is known.
    public static func number(_ path: any WritableKeyPath<E, Int> & Sendable, size: Int? = nil) -> NextPage {
        counting(path, size: size) { _ in 1 }
    }

    /// Counts elements. The last page is empty, or has fewer elements than `size`, where that is known.
    public static func offset(_ path: any WritableKeyPath<E, Int> & Sendable, size: Int? = nil) -> NextPage {
        counting(path, size: size) { $0 }
    }

    private static func counting(
        _ path: any WritableKeyPath<E, Int> & Sendable, size: Int?, step: @escaping @Sendable (Int) -> Int
    ) -> NextPage {
        NextPage { endpoint, response in
            let count = endpoint.elements(of: response.value).count
            guard count > 0, count >= size ?? 0 else { return nil }
            var next = endpoint
            let (sum, isTooLarge) = next[keyPath: path].addingReportingOverflow(step(count))
            guard !isTooLarge else { return nil }
            next[keyPath: path] = sum
            return next
        }
    }

    /// Sends what the page names as the next one: nil on the last page. A way that leads round in a circle ends there, too.
    public static func cursor<Cursor: Equatable & Sendable>(
        _ path: any WritableKeyPath<E, Cursor?> & Sendable, from cursor: @escaping @Sendable (E.Value) -> Cursor?
    ) -> NextPage {
        NextPage(place: { place, response in
            guard let cursor = cursor(response.value), cursor != place.endpoint[keyPath: path] else { return nil }
            var next = place.endpoint
            next[keyPath: path] = cursor
            return Place(endpoint: next, mark: "\(cursor)")
        })
    }

    /// Follows the `Link` field of relation type `next` (RFC 8288), which the last page lacks. A way that leads round in a circle ends there, too.
    ///
    /// The link is asked without the query of the endpoint, and with its method, fields and options. One to another origin than the page was asked of,
    /// redirects aside, would get the fields of the service, credentials among them: it is not asked, and the next page is the error `badResponse`.
    public static var link: NextPage {
        NextPage(followsLinks: true) { place, response in
            guard let target = response.head.link("next"), let base = try? RequestURL(response.url),
                let url = try? RequestURL(target, relativeTo: base), url.string != response.url
            else { return nil }
            var next = Place(endpoint: place.endpoint, link: url.string, mark: url.string)
            // A redirect has left the credentials behind, and the link would bring them there: what counts is the server that was asked.
            if url.origin != place.origin ?? base.origin {
                next.refusal = .badResponse("the next page is on another server, \(url.origin)")
            }
            return next
        }
    }
}

/// The way through pages that a server names. (pure)
///
/// It keeps one name, and takes a later one at growing distances (Brent): a circle is found after no more than a few rounds, with the memory of one name.
struct PageTrail: Hashable, Sendable {
    private var kept: String?
    private var distance = 0
    private var reach = 1

    /// - Returns: false where the way has been here before.
    mutating func passes(_ mark: String?) -> Bool {
        guard let mark else { return true }
        if mark == kept { return false }
        distance += 1
        if distance >= reach { (kept, distance, reach) = (mark, 0, reach &* 2) }
        return true
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
