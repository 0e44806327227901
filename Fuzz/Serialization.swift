@testable import ScopedNet

/// Parameters: what is written is read back, and a query changes neither fragment nor host of its URL.
@Sendable func fuzzQuery(_ input: UnsafeRawBufferPointer) {
    let parts = input.split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    guard parts.count == 3 else { return }
    let (name, value, url) = (parts[0], parts[1], parts[2])
    let escaped = PercentEncoding.escaped(name)
    check(PercentEncoding.unescaped(escaped) == name, "\(escaped) is not \(name)")
    check(escaped.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"#&=+\"<>[]".utf8.contains($0) }, "\(escaped) holds more than a query may")
    _ = PercentEncoding.unescaped(value)
    guard let joined = try? QuerySerializer.standard.appending([name: [.string(value), nil] as ParameterValue], to: url) else {
        fatalError("refused")
    }
    let fragment = url.utf8.drop { $0 != UInt8(ascii: "#") }
    check(joined.utf8.drop { $0 != UInt8(ascii: "#") }.elementsEqual(fragment), "\(joined): another fragment than \(url)")
    guard let plain = try? RequestURL(url) else { return }
    guard let full = try? RequestURL(joined) else { fatalError("\(joined) is no URL") }
    check(full.origin == plain.origin, "\(joined) leads elsewhere than \(url)")
}

/// Names of parts: none ends its quotes or its line. Boundaries: what is taken is fit for a field.
@Sendable func fuzzMultipart(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let parts = rest.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
    let shown = MultipartHeader.disposition(name: parts[0], fileName: choice & 1 == 0 ? nil : parts.last)
    check(!shown.utf8.contains { $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }, "\(shown) holds what could end it")
    check(shown.utf8.count { $0 == UInt8(ascii: "\"") } == (choice & 1 == 0 ? 2 : 4), "\(shown) has more quotes than its own")
    if let boundary = try? MultipartBoundary(rest.text) {
        check((try? HeaderField.checked("Content-Type", boundary.contentType)) != nil, boundary.contentType)
    }
    _ = MediaType.forFile(named: rest.text)
}

/// `Set-Cookie` of any form: what is kept was set by that host for itself, and what is sent is one line.
@Sendable func fuzzCookie(_ input: UnsafeRawBufferPointer) {
    guard let (choice, rest) = input.split else { return }
    let origin = CookieOrigin(scheme: choice & 1 == 0 ? "http" : "https", host: "www.example.com", path: "/a/b")
    var table = CookieTable()
    _ = table.receive("a=1; Domain=example.com", from: origin, now: 0)
    _ = table.receive(rest.text, from: origin, now: 1)
    for cookie in table.all {
        check(["www.example.com", "example.com"].contains(cookie.key.domain), "a cookie for \(cookie.key.domain)")
        check(!cookie.isSecure || origin.isSecure, "\(cookie.pair) is secure, and its origin is not")
        check(cookie.key.path.utf8.first == UInt8(ascii: "/"), "the path \(cookie.key.path)")
    }
    let field = table.field(for: origin, now: 2) ?? ""
    check(!field.utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }, "\(field) holds a control character")
    check(table.field(for: CookieOrigin(scheme: "https", host: "example.org", path: "/"), now: 2) == nil, "cookies go to a stranger")
}

/// Challenges of any form: schemes are tokens, and an answer is one line.
@Sendable func fuzzChallenge(_ input: UnsafeRawBufferPointer) {
    let text = input.text
    let challenges = AuthenticationChallenge.parse(text)
    check(challenges.count <= text.utf8.count { $0 == UInt8(ascii: ",") } + 1, "more challenges than commas")
    for challenge in challenges { check(HTTPField.Name(challenge.scheme) != nil, "the scheme '\(challenge.scheme)'") }
    guard let digest = DigestChallenge.first(in: [text]) else { return }
    let exchange = DigestAnswer.Exchange(method: "GET", target: "/", clientNonce: "c", count: 1, body: [])
    guard let value = try? DigestAnswer(user: "Mufasa", password: "Circle of Life").fieldValue(for: digest, exchange) else {
        fatalError("\(text) is not answered")
    }
    check(!value.utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(value) holds a control character")
    check(AuthenticationChallenge.parse(value).count == 1, "\(value) is read as something else")
}
