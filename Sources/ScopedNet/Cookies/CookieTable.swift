import Persistence

/// Which cookies are kept and which are sent (RFC 6265bis sections 5.7 and 5.8). (pure)
///
/// A value: events in, decisions out. The jar around it has the lock, the clock and the store. Times are seconds since 1970.
package struct CookieTable: Sendable {
    /// Why a cookie is not kept.
    package enum Refusal: Sendable, Hashable {
        case unreadable, foreignDomain, publicSuffix, insecureOrigin, secureOverwritten, prefixRule, sameSiteNoneWithoutSecure
    }

    package enum Decision: Sendable, Hashable {
        case stored(Cookie.Key)
        /// It was there, and its new expiry has passed.
        case removed(Cookie.Key)
        case refused(Refusal)
    }

    package struct Limits: Sendable {
        /// RFC 6265bis section 6.1 asks for 50 and 3000 at least.
        package var perDomain = 50
        package var total = 3_000
        /// Cookies live 400 days at most (section 5.5).
        package var lifetime: Double = 400 * 86_400
        package init() {}
    }

    private var cookies: [Cookie.Key: Cookie] = [:]
    /// Those of a domain.
    private var domains: [String: Set<Cookie.Key>] = [:]
    /// No cookie expires before.
    private var nextExpiry = Double.infinity
    /// Nil until there were too many in all.
    private var order: CookieOrder?
    /// Made room since they were last asked for.
    private var evicted: Set<Cookie.Key> = []
    private let limits: Limits
    /// Whether a domain is one that belongs to nobody, such as `co.uk`.
    private let isPublicSuffix: @Sendable (String) -> Bool

    /// Makes an empty table. Without a list of public suffixes, names of one label only are such, as that is what a top-level domain is.
    package init(limits: Limits = Limits(), isPublicSuffix: @escaping @Sendable (String) -> Bool = { !$0.utf8.contains(UInt8(ascii: ".")) })
    {
        self.limits = limits
        self.isPublicSuffix = isPublicSuffix
    }

    package var count: Int { cookies.count }
    package subscript(key: Cookie.Key) -> Cookie? { cookies[key] }

    /// Puts back what was kept before.
    package mutating func restore(_ cookie: Cookie, now: Double) {
        guard !cookie.isExpired(at: now), cookies[cookie.key] == nil else { return }
        put(cookie)
        evict(sparing: cookie.key, now: now)
    }

    /// What has made room for others, each once.
    package mutating func takeEvicted() -> Set<Cookie.Key> {
        defer { evicted = [] }
        return evicted
    }

    private mutating func put(_ cookie: Cookie) {
        if cookies.updateValue(cookie, forKey: cookie.key) == nil { domains[cookie.key.domain, default: []].insert(cookie.key) }
        nextExpiry = min(nextExpiry, cookie.expires ?? .infinity)
        order?.insert(cookie)
        if let order, order.count > 2 * cookies.count + 64 { self.order = CookieOrder(cookies.values) }
    }

    private mutating func take(_ key: Cookie.Key) {
        guard cookies.removeValue(forKey: key) != nil else { return }
        domains[key.domain]?.remove(key)
        if domains[key.domain]?.isEmpty == true { domains[key.domain] = nil }
    }

    /// Section 5.2: the same scheme, and the same domain below a public suffix.
    package func isSameSite(_ left: CookieOrigin, _ right: CookieOrigin) -> Bool {
        left.isSecure == right.isSecure && site(of: left) == site(of: right)
    }

    /// The name one label below the longest public suffix; an address, and a suffix, is its own site.
    private func site(of origin: CookieOrigin) -> Substring {
        var site = origin.host[...]
        if origin.isAddress { return site }
        while let dot = site.utf8.firstIndex(of: UInt8(ascii: ".")) {
            let parent = site[site.utf8.index(after: dot)...]
            if isPublicSuffix(String(parent)) { return site }
            site = parent
        }
        // Nothing of it is a suffix, but the last label always is.
        return origin.host[...]
    }

    package var all: [Cookie] {
        cookies.values.sorted { ($0.key.domain, $0.key.path, $0.key.name) < ($1.key.domain, $1.key.path, $1.key.name) }
    }
    package mutating func removeAll(where isUnwanted: (Cookie) -> Bool = { _ in true }) {
        for cookie in cookies.values.filter(isUnwanted) { take(cookie.key) }
    }

    // MARK: Keeping

    package mutating func receive(_ field: String, from origin: CookieOrigin, now: Double) -> Decision {
        guard let request = SetCookie(field) else { return .refused(.unreadable) }
        let domain: (name: String, isHostOnly: Bool)
        switch scope(of: request, origin) {
        case .failure(let refusal): return .refused(refusal.reason)
        case .success(let found): domain = found
        }
        let key = Cookie.Key(
            name: request.name, domain: domain.name, path: request.path ?? origin.defaultPath, isHostOnly: domain.isHostOnly)
        if let refusal = refusal(of: request, key, origin, now) { return .refused(refusal) }
        let cookie = Cookie(
            key: key, value: request.value, isSecure: request.isSecure, isHTTPOnly: request.isHTTPOnly, sameSite: request.sameSite,
            expires: expiry(of: request, now), created: cookies[key].flatMap { $0.isExpired(at: now) ? nil : $0.created } ?? now,
            lastUsed: now)
        guard !cookie.isExpired(at: now) else {
            take(key)
            return .removed(key)
        }
        put(cookie)
        evict(sparing: key, now: now)
        return .stored(key)
    }

    private struct Refused: Error { let reason: Refusal }

    private func scope(of request: SetCookie, _ origin: CookieOrigin) -> Result<(name: String, isHostOnly: Bool), Refused> {
        guard let domain = request.domain, !domain.isEmpty else { return .success((origin.host, true)) }
        guard domain.utf8.allSatisfy({ $0 < 0x80 }), origin.domainMatches(domain) else { return .failure(Refused(reason: .foreignDomain)) }
        if isPublicSuffix(domain) {
            return domain == origin.host ? .success((origin.host, true)) : .failure(Refused(reason: .publicSuffix))
        }
        return .success((domain, false))
    }

    private func refusal(of request: SetCookie, _ key: Cookie.Key, _ origin: CookieOrigin, _ now: Double) -> Refusal? {
        if request.isSecure, !origin.isSecure { return .insecureOrigin }
        if request.sameSite == SetCookie.SameSite.none, !request.isSecure { return .sameSiteNoneWithoutSecure }
        if breaksPrefix(request, key) { return .prefixRule }
        // Who reads the wire must not replace what only https may set.
        guard !request.isSecure, !origin.isSecure else { return nil }
        let isOverlaid = cookies.values.contains { known in
            known.isSecure && !known.isExpired(at: now) && known.key.name.hasSameBytes(as: key.name)
                && CookieOrigin.path(key.path, matches: known.key.path)
                && (Self.domain(known.key.domain, matches: key.domain) || Self.domain(key.domain, matches: known.key.domain))
        }
        return isOverlaid ? .secureOverwritten : nil
    }

    private static func domain(_ name: String, matches domain: String) -> Bool { name == domain || name.hasSuffix("." + domain) }

    /// Names that promise something (section 4.1.3; those of `HttpOnly` cookies are from the draft that follows it, `layered-cookies`),
    /// whatever their case; a nameless cookie must not look like one.
    private func breaksPrefix(_ request: SetCookie, _ key: Cookie.Key) -> Bool {
        // By byte: a mark that combines with the last one would make another character of it.
        let name = Array((request.name.isEmpty ? request.value : request.name).lowercased().utf8)
        let isHTTPOnly = name.starts(with: "__http-".utf8) || name.starts(with: "__host-http-".utf8)
        let isHost = name.starts(with: "__host-".utf8)
        guard isHost || isHTTPOnly || name.starts(with: "__secure-".utf8) else { return false }
        if request.name.isEmpty || !request.isSecure || isHTTPOnly && !request.isHTTPOnly { return true }
        return isHost && !(key.isHostOnly && request.domain == nil && request.path == "/")
    }

    private func expiry(of request: SetCookie, _ now: Double) -> Double? {
        if let maxAge = request.maxAge { return maxAge <= 0 ? -.infinity : now + min(Double(maxAge), limits.lifetime) }
        return request.expires.map { min(Double($0), now + limits.lifetime) }
    }

    /// First what has expired, then of a domain with too many, then of all: those without `Secure` first, the longest unused first.
    private mutating func evict(sparing key: Cookie.Key, now: Double) {
        guard domains[key.domain]?.count ?? 0 > limits.perDomain || cookies.count > limits.total else { return }
        dropExpired(now)
        let own = domains[key.domain] ?? []
        if own.count > limits.perDomain {
            var order = CookieOrder(own.compactMap { cookies[$0] })
            for _ in limits.perDomain..<own.count {
                if let next = order.removeFirst(sparing: key, among: cookies) { drop(next) }
            }
        }
        while cookies.count > limits.total {
            if order == nil { order = CookieOrder(cookies.values) }
            guard let next = order?.removeFirst(sparing: key, among: cookies) else { return }
            drop(next)
        }
    }

    private mutating func dropExpired(_ now: Double) {
        guard nextExpiry <= now else { return }
        for cookie in cookies.values.filter({ $0.isExpired(at: now) }) { drop(cookie.key) }
        nextExpiry = cookies.values.reduce(.infinity) { min($0, $1.expires ?? .infinity) }
    }

    private mutating func drop(_ key: Cookie.Key) {
        take(key)
        evicted.insert(key)
    }

    // MARK: Sending

    /// Makes the value of `Cookie`, nil where there is nothing to send. What is sent counts as used.
    ///
    /// `isSameSite` is false for a request that another site led to, such as behind a redirect: then only what says `SameSite=None` goes
    /// along, and with safe methods what says `Lax` or nothing.
    package mutating func field(
        for origin: CookieOrigin, isSameSite: Bool = true, isSafeMethod: Bool = true, now: Double
    ) -> String? {
        let chosen = cookies(for: origin, isSameSite: isSameSite, isSafeMethod: isSafeMethod, now: now)
        guard !chosen.isEmpty else { return nil }
        for cookie in chosen { cookies[cookie.key]?.lastUsed = now }
        return chosen.map(\.pair).joined(separator: "; ")
    }

    /// The cookies of that field, in its order.
    package func cookies(for origin: CookieOrigin, isSameSite: Bool = true, isSafeMethod: Bool = true, now: Double) -> [Cookie] {
        let chosen = candidates(for: origin).filter { cookie in
            !cookie.isExpired(at: now) && origin.pathMatches(cookie.key.path) && (!cookie.isSecure || origin.isSecure)
                && (cookie.key.isHostOnly ? cookie.key.domain == origin.host : origin.domainMatches(cookie.key.domain))
                && (isSameSite || goesAcrossSites(cookie, isSafeMethod))
        }
        return chosen.sorted { left, right in
            let lengths = (left.key.path.utf8.count, right.key.path.utf8.count)
            if lengths.0 != lengths.1 { return lengths.0 > lengths.1 }
            return (left.created, left.key.name) < (right.created, right.key.name)
        }
    }

    /// Those of the host, and of the domains above it.
    private func candidates(for origin: CookieOrigin) -> [Cookie] {
        var found: [Cookie] = []
        var domain = origin.host[...]
        while true {
            for key in domains[String(domain)] ?? [] { if let cookie = cookies[key] { found.append(cookie) } }
            guard !origin.isAddress, let dot = domain.utf8.firstIndex(of: UInt8(ascii: ".")) else { return found }
            domain = domain[domain.utf8.index(after: dot)...]
        }
    }

    private func goesAcrossSites(_ cookie: Cookie, _ isSafeMethod: Bool) -> Bool {
        switch cookie.sameSite {
        case SetCookie.SameSite.none?: true
        case .lax?, nil: isSafeMethod
        case .strict?: false
        }
    }
}
