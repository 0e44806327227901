import HTTPTypes
import ScopedNet

/// The routes of a mock: which one a request takes, and its next reply. (pure)
struct MockRoutes: Sendable {
    enum Answer: Sendable {
        case replies([MockReply])
        case closure(@Sendable (MockExchange) -> MockReply)
    }

    enum Taken: Sendable {
        case reply(MockReply)
        case closure(@Sendable (MockExchange) -> MockReply)
    }

    struct Route: Sendable {
        let number: Int
        /// Nil for any.
        let method: HTTPRequest.Method?
        let place: String
        var answer: Answer
        /// Of the replies, the next one.
        var next = 0

        /// The same method and, by their bytes, the same place: strings that only look alike are two.
        func isSame(_ method: HTTPRequest.Method?, _ place: String) -> Bool {
            self.method == method && self.place.utf8.elementsEqual(place.utf8)
        }

        private var hasQuery: Bool { place.utf8.contains(UInt8(ascii: "?")) }
        private var isWhole: Bool { place.contains("://") }

        /// The higher, the more special.
        var rank: Int { (hasQuery ? 4 : 0) + (isWhole ? 2 : 0) + (method == nil ? 0 : 1) }

        func fits(_ method: HTTPRequest.Method, _ url: RequestURL, _ base: RequestURL?) -> Bool {
            if let own = self.method, own != method { return false }
            // Without a base a relative place is one of the server's.
            let isRelative = !isWhole && place.utf8.first != UInt8(ascii: "/")
            let text = isRelative && base == nil ? "/" + place : place
            let anchor = isRelative && base != nil ? base : url
            // As requests are read: letters of the host, a default port and spaces make no other place.
            guard let wanted = try? RequestURL(text, relativeTo: anchor, isLenient: true), wanted.origin == url.origin else { return false }
            let (left, right) = (Self.normalized(wanted.target), Self.normalized(url.target))
            return left.elementsEqual(right) || !hasQuery && left.elementsEqual(right.prefix { $0 != UInt8(ascii: "?") })
        }

        /// The digits of percent-encoded bytes are the same in either case (RFC 3986 section 6.2.2.1).
        private static func normalized(_ target: String) -> [UInt8] {
            var bytes = Array(target.utf8)
            for start in bytes.indices where bytes[start] == UInt8(ascii: "%") {
                for index in bytes[start...].indices.dropFirst().prefix(2) {
                    if (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(bytes[index]) { bytes[index] -= 0x20 }
                }
            }
            return bytes
        }
    }

    private(set) var routes: [Route] = []
    private var count = 0

    /// - Returns: the route that this replaces.
    mutating func add(_ method: HTTPRequest.Method?, _ place: String, _ answer: Answer) -> Route? {
        let old = routes.firstIndex { $0.isSame(method, place) }.map { routes.remove(at: $0) }
        if case .replies(let replies) = answer, replies.isEmpty { return old }
        count += 1
        routes.append(Route(number: count, method: method, place: place, answer: answer))
        return old
    }

    /// The number of the route of a request.
    func find(_ method: HTTPRequest.Method, _ url: RequestURL, base: String?) -> Int? {
        let base = base.flatMap { try? RequestURL($0) }
        return routes.filter { $0.fits(method, url, base) }.max { ($0.rank, $0.number) < ($1.rank, $1.number) }?.number
    }

    /// The next reply of a route; the last one again and again.
    mutating func take(_ number: Int) -> Taken? {
        guard let index = routes.firstIndex(where: { $0.number == number }) else { return nil }
        switch routes[index].answer {
        case .closure(let closure): return .closure(closure)
        case .replies(let replies):
            defer { routes[index].next = min(routes[index].next + 1, replies.count - 1) }
            return .reply(replies[routes[index].next])
        }
    }

    private static let mostListed = 20

    /// `there are routes for GET topstories, /posts`.
    var summary: String {
        guard !routes.isEmpty else { return "there are no routes" }
        let names = routes.prefix(Self.mostListed).map { route in
            let place = SecretMask().maskedURL(route.place)
            return route.method.map { "\($0.rawValue) \(place)" } ?? place
        }
        let rest = routes.count > Self.mostListed ? " and \(routes.count - Self.mostListed) more" : ""
        return "there are routes for \(names.joined(separator: ", "))\(rest)"
    }
}
