public import FoundationEssentials
public import HTTPTypes
import Persistence

extension ResponseCache {
    /// Stores a body under a request that has not been sent, as if the server had answered it with this: a list brings whole articles, and the
    /// page of each finds its own.
    ///
    /// The rules decide as they would for the server's answer, by the request's own policy, fields and method. What says nothing about how long it
    /// is valid needs ``CachePolicy/timeToLive``. What was stored under the request is replaced.
    ///
    /// ```swift
    /// for article in articles {
    ///     let page = session.get("articles/\(article.id)").options { $0.cache.timeToLive = .seconds(600) }
    ///     await cache.store(try encoder.encode(article), headers: [.contentType: "application/json"], for: page)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - body: not encoded; `Content-Length` is that of this body whatever `headers` says.
    ///   - headers: the response's.
    ///   - request: need not belong to a session with this cache.
    /// - Returns: false when the rules forbid it (`no-store`, no lifetime, a method that is not cached, a malformed URL), or the store has no room.
    @discardableResult
    public func store<Value>(_ body: Data, headers: HTTPFields, for request: Request<Value>) async -> Bool {
        let head = CacheHead(status: 200, reason: "OK", fields: headers.withoutFraming)
        let template = request.prepared()
        return await withCheckedContinuation { continuation in
            // The store may have to ask the disk.
            BlockingPool.shared.submit(.init(self)) { continuation.resume(returning: self.insert(body, head, template)) }
        }
    }

    /// Stores a response under another request, as ``store(_:headers:for:)`` does.
    ///
    /// The decoded body is stored, and fields that are about the other resource or that connection are not: validators (another resource may use
    /// the same entity tag), `Content-Location`, `Set-Cookie`.
    ///
    /// - Returns: also false for statuses other than 200, and for bodies that went to a file or a stream.
    @discardableResult
    public func store<Value, Other>(_ response: Response<Value>, for request: Request<Other>) async -> Bool {
        // An empty body may also be that of a HEAD, of a file or of a stream.
        guard response.status == 200, !response.body.isEmpty || response.head["content-length"] == "0" else { return false }
        var headers = response.head.headers
        for name in [HTTPField.Name.eTag, .lastModified, .contentLocation, .setCookie] { headers[name] = nil }
        return await store(response.body, headers: headers, for: request)
    }

    /// A response that was stored by ``store(_:headers:for:)``, and is valid still.
    package struct Finding: Sendable {
        package let headers: HTTPFields
        /// Empty where it was not asked for.
        package let body: Data
        /// Its remaining lifetime (RFC 9111 section 4.2).
        package let secondsLeft: Int
    }

    /// Finds what was stored under a request, without a run: nobody is asked for credentials, and no observer hears of it. Reading a body costs as much
    /// as it is long: ask for it where it is used.
    package func find<Value>(_ request: Request<Value>, withBody: Bool = true) async -> Finding? {
        let template = request.prepared()
        return await withCheckedContinuation { continuation in
            BlockingPool.shared.submit(.init(self)) { continuation.resume(returning: self.find(template, withBody: withBody)) }
        }
    }

    private func find(_ template: RequestTemplate, withBody: Bool) -> Finding? {
        let strategy = strategy(template.options.cache)
        let request = CacheRequest(method: template.method, url: template.url.string, fields: template.headers.fields)
        guard let key = strategy.key(for: request) else { return nil }
        let found = cached(key) ?? load(key)
        guard case .serve(let answer) = strategy.decide(request, candidates: found.responses, now: clock()), !answer.isStale,
            answer.body == .whole
        else { return nil }
        let entry = found.entries[answer.candidate]
        guard let body = withBody ? try? entry.body.load(limit: template.options.limits.bodyBytes) : Data() else { return nil }
        return Finding(headers: answer.head.fields, body: body, secondsLeft: answer.status.timeToLive ?? 0)
    }

    private func insert(_ body: Data, _ head: CacheHead, _ template: RequestTemplate) -> Bool {
        var policy = template.options.cache
        guard policy != .off, template.url.handle != nil, template.method == .get || policy.keeps(template.method) else { return false }
        // However good what is stored may be.
        policy.read = .none
        let strategy = strategy(policy)
        let request = CacheRequest(
            method: template.method, url: template.url.string, fields: template.headers.fields, hasBody: template.body != nil)
        guard let key = strategy.key(for: request) else { return false }
        let (found, now) = (cached(key) ?? load(key), clock())
        guard case .forward(let forward) = strategy.decide(request, candidates: found.responses, now: now) else { return false }
        let transaction = CacheTransaction(self, key, found, forward)
        transaction.outcome = forward.received(head, requestTime: now, responseTime: now)
        guard transaction.stores else { return false }
        transaction.applyChanges()
        return transaction.store(body, isComplete: true, of: nil)
    }
}

extension HTTPFields {
    /// Without what describes how a body came over a connection.
    fileprivate var withoutFraming: HTTPFields {
        var fields = self
        for name in [HTTPField.Name.contentEncoding, .contentLength, .transferEncoding, .connection, .trailer] { fields[name] = nil }
        return fields
    }
}
