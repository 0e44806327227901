import HTTPTypes

/// Who is asking: what goes along with each exchange, before anybody has refused it.
extension RunCore {
    /// Most runs have nothing to say about it.
    var usesAuthentication: Bool {
        switch template.options.authentication.kind {
        case .automatic: session.configuration.credentials != nil
        case .none: false
        case .credential, .tokens, .handler: true
        }
    }

    /// Before the first exchange asks the cache: stored responses may depend on who asks. Caller's thread.
    func beginAuthenticated(batch: DeliveryBatch?) {
        let options = template.options.authentication
        if case .failure(var error) = options.place {
            error.runID = id
            return fail(error, batch: nil)
        }
        // What a renewal sends itself does not wait for its end.
        if case .tokens(let source) = options.kind, source.isRenewingHere { return enterFirst(batch) }
        let state = RunAuthentication(options, store: session.configuration.credentials, home: template.url, timing: session.timing)
        drive.authentication = state
        state.noteFields(intent.headers.fields, template.url)
        if let source = state.tokens(for: template.url) {
            let timing = session.timing
            // One look: a moment later it may have expired.
            if let token = source.readyToken(timing) { return goOn(withFirst: state.token(token, template.url), batch) }
            beginTotalTime()
            return ask({ await source.result(insteadOf: nil, timing) }) { run, token in run.goOn(withFirst: token) }
        }
        goOn(withFirst: state.volunteer(template.url), batch)
    }

    private func goOn(withFirst token: Result<String, NetworkError>) {
        switch token {
        case .success(let token): goOn(withFirst: drive.authentication?.token(token, template.url), nil)
        case .failure(let error): fail(numbered(error), batch: nil)
        }
    }

    private func goOn(withFirst answer: RunAuthentication.Answer?, _ batch: DeliveryBatch?) {
        let forProxy = volunteerToProxy(template.url)
        if answer != nil || forProxy != nil {
            let first = exchange
            do throws(NetworkError) {
                var fields = first.headers.fields
                try put(answer, into: &fields, isProxy: false, first)
                try put(forProxy, into: &fields, isProxy: true, first)
                exchange = first.with(try session.headerBlock(fields, method: first.method, body: first.body))
            } catch { return fail(numbered(error), batch: nil) }
        }
        // After a question no batch is left, and this thread is not one to block.
        if case .tokens = template.options.authentication.kind, batch == nil { return enterCacheBlocking(batch: nil) }
        enterFirst(batch)
    }

    private func volunteerToProxy(_ url: RequestURL) -> RunAuthentication.Answer? {
        guard let state = drive.authentication, state.knowsProxies, let proxy = session.link.proxyOrigin(for: url) else { return nil }
        return state.volunteer(toProxy: proxy)
    }

    func numbered(_ error: NetworkError) -> NetworkError {
        var error = error
        error.runID = id
        error.attempt = exchange.attempt
        return error
    }

    /// Puts an answer among the fields and notes that it goes out. One that would have to hash a body waits until it is asked for.
    private func put(
        _ answer: RunAuthentication.Answer?, into fields: inout HTTPFields, isProxy: Bool, _ exchange: TransferRequest
    ) throws(NetworkError) {
        guard let answer, answer.digest?.challenge.protection != .authInt || exchange.body == nil else { return }
        try put(answer, into: &fields, isProxy: isProxy, url: exchange.url, method: exchange.method, body: [])
    }

    func put(
        _ answer: RunAuthentication.Answer, into fields: inout HTTPFields, isProxy: Bool, url: RequestURL, method: HTTPRequest.Method,
        body: [UInt8]?
    ) throws(NetworkError) {
        let value = try AnswerField.value(
            answer.credential, digest: answer.digest, method: method.rawValue, target: url.target, body: body)
        fields[isProxy ? .proxyAuthorization : .authorization] = value
        drive.authentication?.note(answer, isProxy: isProxy)
    }

    // MARK: The next exchange

    /// The fields of a retry: a nonce is used again with the next count.
    func authorizedForRetry(_ headers: HeaderBlock) -> HeaderBlock {
        guard let state = drive.authentication else { return headers }
        state.begin()
        let last = exchange
        var fields = headers.fields
        // What was well formed once is so again; where not, the server says that the nonce is used up.
        guard (try? renew(&fields, state, last.url, last.method, last.body)) == true else { return headers }
        return (try? session.headerBlock(fields, method: last.method, body: last.body)) ?? headers
    }

    /// - Returns: false where nothing changes.
    private func renew(
        _ fields: inout HTTPFields, _ state: RunAuthentication, _ url: RequestURL, _ method: HTTPRequest.Method, _ body: RequestBody?
    ) throws(NetworkError) -> Bool {
        var isChanged = false
        for isProxy in [false, true] {
            guard let answer = state.renewed(isProxy: isProxy) else { continue }
            isChanged = true
            if answer.digest?.challenge.protection == .authInt, body != nil {
                // Asked for once more it is hashed with the body, off this thread.
                fields[isProxy ? .proxyAuthorization : .authorization] = nil
                state.note(nil, isProxy: isProxy)
            } else {
                try put(answer, into: &fields, isProxy: isProxy, url: url, method: method, body: [])
            }
        }
        return isChanged
    }

    /// The fields of a redirected request, without what must not go there.
    func authorized(
        _ fields: HTTPFields, following target: RequestURL, isSameOrigin: Bool, _ method: HTTPRequest.Method, _ body: RequestBody?
    ) throws(NetworkError) -> HTTPFields {
        guard let state = drive.authentication else { return fields }
        state.begin()
        var fields = fields
        if isSameOrigin {
            _ = try renew(&fields, state, target, method, body)
            return fields
        }
        // What answered a proxy's challenge here says nothing there; what the program has set itself goes where it says.
        if state.hasAnswered(isProxy: true) { fields[.proxyAuthorization] = nil }
        state.note(nil, isProxy: true)
        state.leave(for: target, fields)
        if let answer = state.volunteer(target), answer.digest?.challenge.protection != .authInt || body == nil {
            try put(answer, into: &fields, isProxy: false, url: target, method: method, body: [])
        }
        if let answer = volunteerToProxy(target) {
            try put(answer, into: &fields, isProxy: true, url: target, method: method, body: [])
        }
        return fields
    }
}
