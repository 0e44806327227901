public import FoundationEssentials

/// The options that are set most often, one by one. Each changes later starts, as ``options(_:)`` does.
///
/// ```swift
/// let report = session.get("report", as: Report.self).timeout(.seconds(10)).retry(.standard).priority(.high)
/// ```
extension Request {
    /// Limits the time of a whole run, its waits and attempts included; nil for no limit.
    public func timeout(_ total: Duration?) -> Self { options { $0.timeouts.total = total } }

    /// Sets whether and when failed attempts are repeated.
    public func retry(_ policy: RetryPolicy) -> Self { options { $0.retry = policy } }

    /// Sets the place in the queue.
    public func priority(_ priority: Priority) -> Self { options { $0.priority = priority } }

    /// Sets which statuses are a success.
    public func validate(_ validation: StatusValidation) -> Self { options { $0.validation.statuses = validation } }

    /// Sets a check of your own, of the head and the decoded body; what it throws fails the run. There is one: it takes the place of an earlier
    /// one, and of the session's. See ``RequestOptions/Validation/check``.
    ///
    /// ```swift
    /// session.get("stories").validate { head, body in if body.isEmpty { throw NothingThere() } }
    /// ```
    public func validate(_ check: @escaping @Sendable (ResponseHead, Data) throws -> Void) -> Self {
        options { $0.validation.check = check }
    }

    /// Sets how the response cache is used.
    public func cache(_ policy: CachePolicy) -> Self { options { $0.cache = policy } }

    /// Sets which redirects are followed: `.redirects(.never)` makes the 3xx response the result, where `.validate(.any)` takes it.
    public func redirects(_ mode: RedirectPolicy.Mode) -> Self { options { $0.redirects.mode = mode } }

    /// Sets what happens when a request with the same key is running: `.repeats(.replaceRunning, key: "search")`. Without a
    /// key the runs of this request are meant.
    public func repeats(_ strategy: RepeatStrategy, key: String? = nil) -> Self {
        options { $0.repeats = RequestOptions.Repeats(strategy, key: key) }
    }

    /// Sets the label by which requests are found and cancelled (``RequestAgent/cancelAll(tag:reason:)``).
    public func tag(_ tag: String?) -> Self { options { $0.tag = tag } }

    /// Adds interceptors behind those that the request has, the session's first.
    public func interceptors(call: [any Interceptor] = [], exchange: [any Interceptor] = []) -> Self {
        options {
            $0.interceptors.call += call
            $0.interceptors.exchange += exchange
        }
    }

    /// Changes each later start of the request once, before the cache is asked: a field, the URL, the body. It runs behind the interceptors of the call
    /// that are there already; what it throws fails the run. See ``Session/onRequest(_:)``.
    public func onRequest(_ adapt: @escaping @Sendable (inout InterceptedRequest) throws -> Void) -> Self {
        interceptors(call: [RequestAdapter(adapt: adapt)])
    }

    /// Lets a download go on where an earlier one broke off (``DownloadOptions/resumes``).
    public func resuming() -> Self { options { $0.downloads.resumes = true } }

    /// Sends `Idempotency-Key` with every attempt of later starts (draft-ietf-httpapi-idempotency-key-header). The server does the work once
    /// for each key, so a request with this field counts as idempotent, also a POST: retries (``retry(_:)``) repeat it. The key is unique for each
    /// piece of work; by default a random one of this call, which all later starts share.
    public func idempotencyKey(_ key: String = UUID().uuidString) -> Self {
        // A string of structured fields (RFC 9651), as the draft has it.
        let quoted = "\"\(key.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        return header("Idempotency-Key", quoted)
    }
}

extension Request {
    /// Sets a header field of later starts; it replaces fields of that name, the session's too. An empty value is sent as such.
    ///
    /// A name that is no token, or a value with a line end, a NUL or another control character, is refused: the next start fails with `invalidHeader`
    /// and sends nothing, unless the field is set anew.
    public func header(_ name: String, _ value: String) -> Self { changeDescription { $0.with(name, value) } }
}
