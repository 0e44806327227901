@testable import ScopedNet

/// URLs: what is accepted is stable, has a host and a port, and holds no byte that could end a request line.
@Sendable func fuzzURL(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    let base = try? RequestURL("http://user@example.com:8080/a/b?c#d")
    for url in [
        try? RequestURL(text), try? RequestURL("http://user:secret@" + text), try? RequestURL(text, relativeTo: base),
        try? RequestURL(text, relativeTo: base, isLenient: true),
    ] {
        guard let url else { continue }
        check(!url.string.utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "\(url.string) holds a space or control character")
        // Credentials and host may be in letters of any country: neither is in the request line, and libcurl writes hosts in ASCII.
        let target = url.string.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false).dropFirst(3).first ?? ""
        check(!target.utf8.contains { $0 >= 0x80 }, "\(url.string) is not fit for a request line")
        check(!url.host.isEmpty && (0...65_535).contains(url.port), "\(url.string): \(url.host), \(url.port)")
        check(["http", "https"].contains(url.scheme), url.scheme)
        let shown = url.description
        if url.hasCredentials { check(!shown.contains("secret"), "\(shown) shows its password") }
        guard let again = try? RequestURL(url.string) else { fatalError("\(url.string) is not accepted again") }
        check(again.string == url.string && again.origin == url.origin, "\(url.string) became \(again.string)")
    }
}

/// `Location` of any form: what is followed stays on http and https, and never goes down from https.
@Sendable func fuzzRedirect(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    guard let base = try? RequestURL("https://example.com/a/b"), let target = try? RequestURL(rest.text, relativeTo: base, isLenient: true)
    else { return }
    let status = [301, 302, 303, 307, 308, 300, 304][choice % 7]
    let context = RedirectPolicy.Context(
        status: status, location: target.string, visits: [.init(method: choice & 8 == 0 ? .get : .post, url: base.string)],
        hasBody: choice & 16 != 0, isBodyReplayable: choice & 32 != 0)
    guard case .follow(let next) = RedirectPolicy.default.decide(context) else { return }
    check(next.url.utf8.starts(with: "https://".utf8), "\(base.string) led to \(next.url)")
    check(next.isSameOrigin == (target.origin == base.origin), "\(next.url) is taken for the same origin as \(base.string)")
    if !next.isSameOrigin { check(next.drops("authorization") && next.drops("cookie"), "secrets go to \(next.url)") }
}

/// Proxy variables: any text gives an answer, and `NO_PROXY=*` always the same.
@Sendable func fuzzProxyEnvironment(_ input: UnsafeRawBufferPointer) {
    let parts = input.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    guard parts.count == 3 else { return }
    let environment = ProxyConfiguration.Environment(["http_proxy": parts[0], "no_proxy": parts[1]])
    _ = environment.choice(scheme: "http", host: parts[2], port: 80)
    let none = ProxyConfiguration.Environment(["http_proxy": parts[0], "no_proxy": "*"])
    check(none.choice(scheme: "http", host: parts[2], port: 80) == .direct, "NO_PROXY=* was overridden")
}
