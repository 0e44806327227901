import HTTPTypes

/// Which redirects are followed, and what the next request looks like (RFC 9110 section 15.4).
///
/// - 301 and 302 turn POST into GET, as all clients do; 303 turns everything but HEAD into GET; 307 and 308 change nothing.
/// - A body that is kept must be replayable. With a body that is dropped go the fields that describe it.
/// - Credentials stay at their origin: when scheme, host or port changes, the fields of ``sensitiveNames`` are dropped.
/// - Only `http` and `https` targets, and never from `https` to `http` unless ``allowsDowngrade``.
///
/// Relative targets are resolved before they come here.
public struct RedirectPolicy: Sendable, Hashable {
    /// Which redirects are followed at all.
    public enum Mode: Sendable, Hashable {
        /// All that the rules allow.
        case follow
        /// None: the 3xx response is the result.
        case never
        /// Those that stay at the origin. Any other 3xx response is the result.
        case sameOriginOnly
    }

    /// Which redirects are followed at all. The default is ``Mode/follow``.
    public var mode: Mode
    /// The most redirects of one run; one more is an error. The default is 20; a request with less than 0 is `invalidOption`.
    public var maxRedirects: Int
    /// Whether a redirect may lead from `https` to `http`. The default is false.
    public var allowsDowngrade: Bool
    /// Names of further fields that must not reach another origin, such as `X-Api-Key`. Case does not matter.
    public var additionalSensitiveNames: Set<String>

    /// Makes a policy; the defaults follow at most 20 redirects, and none from `https` to `http`.
    public init(
        mode: Mode = .follow, maxRedirects: Int = 20, allowsDowngrade: Bool = false,
        additionalSensitiveNames: Set<String> = []
    ) {
        self.mode = mode
        self.maxRedirects = maxRedirects
        self.allowsDowngrade = allowsDowngrade
        self.additionalSensitiveNames = additionalSensitiveNames
    }

    /// Follows at most 20 redirects.
    public static let `default` = RedirectPolicy()

    /// The fields that never reach another origin: credentials, and `Host`, which names the old one.
    private static let alwaysSensitiveNames: Set<String> = ["authorization", "cookie", "cookie2", "host", "proxy-authorization"]

    /// All fields that never reach another origin, in lower case.
    public var sensitiveNames: Set<String> {
        Self.alwaysSensitiveNames.union(additionalSensitiveNames.map { $0.lowercased() })
    }

    /// Decides about a response.
    public func decide(_ context: RedirectPolicy.Context) -> RedirectPolicy.Decision {
        guard let last = context.visits.last, [301, 302, 303, 307, 308].contains(context.status) else {
            return .deliver(.notARedirect)
        }
        guard let location = context.location else { return .deliver(.noLocation) }
        if mode == .never { return .deliver(.notFollowed) }
        guard let target = URLOrigin(location), target.scheme == "http" || target.scheme == "https" else {
            return .fail(.unsupportedTarget)
        }
        let origin = URLOrigin(last.url)
        let isSameOrigin = origin == target
        if mode == .sameOriginOnly && !isSameOrigin { return .deliver(.otherOrigin) }
        if origin?.scheme != "http" && target.scheme == "http" && !allowsDowngrade { return .fail(.downgrade) }

        let method = Self.method(context.status, last.method)
        let keepsBody = context.hasBody && method == last.method
        if keepsBody && !context.isBodyReplayable { return .fail(.bodyNotReplayable) }
        if context.visits.count > maxRedirects { return .fail(.tooMany(limit: maxRedirects)) }
        let url = Self.withInheritedFragment(location, from: last.url)
        if !context.setsCookie, Self.wasVisited(method, url, context.visits) { return .fail(.loop) }
        return .follow(
            RedirectPolicy.RedirectedRequest(
                method: method, url: url, keepsBody: keepsBody, isSameOrigin: isSameOrigin,
                droppedNames: isSameOrigin ? [] : sensitiveNames))
    }

    private static func method(_ status: Int, _ method: HTTPRequest.Method) -> HTTPRequest.Method {
        switch status {
        case 301, 302: method == .post ? .get : method
        case 303: method == .head ? .head : .get
        default: method
        }
    }

    static func wasVisited(_ method: HTTPRequest.Method, _ url: String, _ visits: [RedirectPolicy.Context.Visit]) -> Bool {
        visits.contains { $0.method == method && withoutFragment($0.url) == withoutFragment(url) }
    }

    private static func withInheritedFragment(_ target: String, from url: String) -> String {
        guard !target.utf8.contains(UInt8(ascii: "#")), let fragment = url.utf8.firstIndex(of: UInt8(ascii: "#")) else {
            return target
        }
        return target + url[fragment...]
    }

    private static func withoutFragment(_ url: String) -> Substring {
        Substring(url.utf8.prefix { $0 != UInt8(ascii: "#") })
    }
}
