import HTTPTypes

/// What is sent where a body has to be sent again.
enum BodyForReplay: Sendable {
    /// The same, or none where there is none.
    case same
    case new(RequestBody)
}

/// Sending a body a second time: after a redirect, a retry or a challenge.
extension RunCore {
    /// Whether a body that can be read once is no reason to give up.
    var canReplayBody: Bool { exchange.body?.isReplayable ?? true || hook { $0.newBody } != nil }

    /// The body for one more exchange: the present one where that can be sent again, else what the program gives in its place.
    ///
    /// - Parameters:
    ///   - body: the one that would be sent again; nil for none.
    ///   - replay: the question for the hook.
    ///   - next: gets nil where it cannot be sent again and the program has no other. On this thread, or on one of the concurrency runtime.
    ///     Not called when the hook throws, which ends the run, or the run is cancelled.
    func replayBody(
        _ body: RequestBody?, _ replay: RequestHooks.BodyReplayRequest, next: @escaping @Sendable (RunCore, BodyForReplay?) -> Void
    ) {
        guard let body, !body.isReplayable else { return next(self, .same) }
        guard let question = question({ $0.newBody }, { replay }) else { return next(self, nil) }
        ask(question) { (run: RunCore, answer: RequestBody??) in
            next(run, (answer ?? nil).map { .new($0.resolved(with: run.session.configuration.json)) })
        }
    }

    /// A retry with another body. Where there is none the result stands, as without the hook.
    ///
    /// - Returns: false when the body at hand will do.
    func retryWithNewBody(_ timing: RetryTiming, _ result: TransferResult) -> Bool {
        guard let body = exchange.body, !body.isReplayable else { return false }
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .retry, url: exchange.url.string, method: exchange.method)
        replayBody(body, replay) { run, answer in
            guard case .new(let body)? = answer else {
                let reason = RedirectPolicy.Reason.bodyNotReplayable.description
                run.feed?.push(observed: .retryDecided(reason: reason, after: nil), from: run)
                return run.judge(result, after: .retry, batch: nil)
            }
            do throws(NetworkError) { try run.replaceBody(body) } catch { return run.fail(error, result, batch: nil) }
            run.again(timing)
        }
        return true
    }

    func replaceBody(_ body: RequestBody) throws(NetworkError) {
        let last = exchange
        try body.check(for: last.method)
        var next = NextExchange(url: last.url, method: last.method, fields: last.headers.fields, body: last.body)
        next.replaceBody(.new(body))
        let headers = try session.headerBlock(next.fields, method: last.method, body: body)
        guard exchanges.isConditional else { return exchanges.replaceBody(body, headers, own: nil) }
        // What a later exchange begins with, instead of what the cache made of it.
        (next.fields, next.body) = (exchanges.ownHeaders.fields, last.body)
        next.replaceBody(.new(body))
        exchanges.replaceBody(body, headers, own: try session.headerBlock(next.fields, method: last.method, body: body))
    }
}

extension NetworkError {
    static func bodyNotReplayable(_ message: String, _ run: RunCore) -> NetworkError {
        NetworkError(.bodyNotReplayable, phase: .receiving, message: message, runID: run.id, attempt: run.exchange.attempt)
    }
}
