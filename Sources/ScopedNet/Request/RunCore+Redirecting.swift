import FoundationEssentials
import HTTPTypes

/// A redirect that the policy follows, where the program has a say in it.
extension RunCore {
    struct Hop: Sendable {
        let result: TransferResult
        let head: ResponseHead
        let target: RequestURL
        let next: RedirectPolicy.RedirectedRequest
        let visit: RedirectPolicy.Context.Visit
    }

    /// The next exchange of a redirect.
    struct NextExchange: Sendable {
        var url: RequestURL
        var method: HTTPRequest.Method
        var fields: HTTPFields
        var body: RequestBody?
    }

    /// What the policy makes of the exchange.
    func nextExchange(_ next: RedirectPolicy.RedirectedRequest, to target: RequestURL) -> NextExchange {
        NextExchange(
            url: target, method: next.method,
            fields: HTTPFields(exchanges.ownHeaders.fields.filter { !next.drops($0.name.rawName) }),
            body: next.keepsBody ? exchange.body : nil)
    }

    /// - Returns: false when nobody has to be asked.
    func askAboutHop(_ hop: Hop) -> Bool {
        let proposed = nextExchange(hop.next, to: hop.target)
        let shown = shown(proposed)
        guard let question = question({ $0.redirect }, { redirectHop(hop, shown) }) else {
            guard proposed.body.map({ !$0.isReplayable }) ?? false else { return false }
            follow(hop, proposed)
            return true
        }
        ask(question) { (run: RunCore, answer: RedirectPolicy.Answer?) in
            switch answer?.kind {
            case nil, .follow: run.follow(hop, proposed)
            case .stop: run.stop(at: hop)
            case .change(let next): run.follow(hop, changed: next, from: shown)
            }
        }
        return true
    }

    private func redirectHop(_ hop: Hop, _ proposed: RequestHooks.NextRequest) -> RequestHooks.RedirectProposal {
        let fields = exchanges.ownHeaders.fields
        return RequestHooks.RedirectProposal(
            runID: id, number: drive.visits.count + 1, head: hop.head, isStored: drive.source != .network,
            request: shown(NextExchange(url: exchange.url, method: exchange.method, fields: fields, body: exchange.body)),
            proposed: proposed)
    }

    /// The jar puts its cookies in again, the right ones for where it goes.
    private func shown(_ exchange: NextExchange) -> RequestHooks.NextRequest {
        var fields = exchange.fields
        if drive.hasJarCookies { fields[.cookie] = nil }
        return RequestHooks.NextRequest(url: exchange.url.string, method: exchange.method, headers: fields, keepsBody: exchange.body != nil)
    }

    // MARK: Following

    /// With the body asked for, where it needs another one.
    private func follow(_ hop: Hop, _ next: NextExchange) {
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .redirect, url: next.url.string, method: next.method)
        replayBody(next.body, replay) { run, body in
            do throws(NetworkError) {
                guard let body else { throw .bodyNotReplayable(RedirectPolicy.Reason.bodyNotReplayable.description, run) }
                var next = next
                next.replaceBody(body)
                try next.body?.check(for: next.method)
                try run.follow(next, visit: hop.visit)
            } catch { return run.fail(error, hop.result, batch: nil) }
            run.goToHop(hop, next.url, batch: nil)
        }
    }

    private func follow(_ hop: Hop, changed next: RequestHooks.NextRequest, from proposed: RequestHooks.NextRequest) {
        do throws(NetworkError) {
            let changed = try reviewed(next, proposed, hop)
            if changed.fields[.cookie] != nil { drive.hasJarCookies = false }
            drive.authentication?.replaceFields(proposed.headers, by: changed.fields, changed.url)
            follow(hop, changed)
        } catch { fail(error, hop.result, batch: nil) }
    }

    /// The same rules again, for what the program made of it.
    private func reviewed(_ next: RequestHooks.NextRequest, _ proposed: RequestHooks.NextRequest, _ hop: Hop) throws(NetworkError)
        -> NextExchange
    {
        let url: RequestURL
        do throws(NetworkError) { url = try RequestURL(next.url, relativeTo: hop.target) } catch {
            throw redirectError(error.code == .unsupportedScheme ? .redirectRefused : .invalidURL, error.message)
        }
        let context = RedirectPolicy.Context(
            status: hop.head.status, location: url.string, visits: drive.visits + [hop.visit], setsCookie: hop.head["set-cookie"] != nil)
        let fields: HTTPFields
        switch template.options.redirects.review(context, method: next.method, fields: next.headers, proposed: proposed.headers) {
        case .refuse(let reason): throw redirectError(code(of: reason), reason.description)
        case .accept(let accepted): fields = accepted
        }
        var changed = NextExchange(url: url, method: next.method, fields: fields, body: nil)
        if next.keepsBody {
            changed.body = exchange.body
            // Dropped with the body, before that was kept after all.
            if fields[.contentType] == nil { changed.fields[.contentType] = exchange.headers.fields[.contentType] }
            if let coding = exchange.body?.contentEncoding { changed.fields[.contentEncoding] = coding }
        } else {
            let bodyless = RedirectPolicy.RedirectedRequest(
                method: next.method, url: url.string, keepsBody: false, isSameOrigin: true, droppedNames: [])
            changed.fields = HTTPFields(fields.filter { !bodyless.drops($0.name.rawName) })
        }
        return changed
    }

    /// From here on the redirect is on its way.
    func goToHop(_ hop: Hop, _ target: RequestURL, batch: DeliveryBatch?) {
        // Without userinfo, as all that observers hear.
        let origin = (try? RequestURL(hop.visit.url))?.description ?? ""
        feed?.push(observed: .redirected(from: origin, to: target.description, status: hop.head.status), from: self)
        drive.cache = nil
        enterCacheBlocking(batch: batch)
    }

    // MARK: Stopping

    /// How much of a redirect's body is kept: all of it where the redirect may turn out to be the result.
    func keptBytes(ofRedirect head: ResponseHead) -> Int {
        guard template.options.validation.accepts(head.status), hook({ $0.redirect }) != nil else { return template.errorBodyBytes }
        return template.options.limits.bodyBytes
    }

    /// The 3xx is the result. Its body was not meant for anybody, and so is in memory.
    private func stop(at hop: Hop) {
        let result = hop.result
        guard template.options.validation.accepts(hop.head.status) else { return judge(result, after: .redirect, batch: nil) }
        guard drive.source != .network || result.metrics.bodyBytesReceived <= Int64(result.body.count) else {
            let message = "the response body exceeds \(template.options.limits.bodyBytes) bytes"
            return fail(NetworkError(.bodyTooLarge, phase: .receiving, message: message, runID: id), result, batch: nil)
        }
        // That of a stored one is told with its body.
        if drive.source == .network { feed?.pushHead(hop.head, from: self, batch: nil) }
        if let stream {
            if !result.body.isEmpty { _ = result.body.withUnsafeBytes { stream.offer($0) } }
            stream.finish(nil)
        }
        let isAsked = askForFile(hop.head) { run, place in
            run.drive.file = FileSink(place)
            run.judge(result, after: .redirect, batch: nil)
        }
        if !isAsked { judge(result, after: .redirect, batch: nil) }
    }
}

extension RunCore.NextExchange {
    /// Another body may be of another type and length.
    mutating func replaceBody(_ other: BodyForReplay) {
        guard case .new(let body) = other else { return }
        let old = self.body
        self.body = body
        fields[.contentLength] = nil
        if let type = body.contentType { fields[.contentType] = type }
        if body.contentEncoding != nil || old?.contentEncoding != nil { fields[.contentEncoding] = body.contentEncoding }
    }
}
