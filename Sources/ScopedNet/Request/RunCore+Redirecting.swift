import FoundationEssentials
import HTTPTypes

/// A redirect: the policy decides, and the program has a say in what it follows.
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

    /// The next exchange, as the policy wants it.
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

    // MARK: The policy's decision

    private enum RedirectStep { case followed, deliver, failed(NetworkError) }

    /// - Returns: false where the 3xx leads nowhere, and is a response like all others.
    func redirects(_ result: TransferResult, batch: DeliveryBatch?) -> Bool {
        guard let head = result.head else { return false }
        if isFollowed(head) { storeInCache(result) }
        switch redirect(result, head, batch: batch) {
        case .followed: return true
        case .deliver: return false
        case .failed(let error):
            fail(error, result, batch: batch)
            return true
        }
    }

    /// True where this response leads on, or is refused because of where it leads; any other is a response like all others.
    func isFollowed(_ head: ResponseHead) -> Bool {
        if drive.isRefresh { return false }
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head.location else { return false }
        switch template.options.redirects.mode {
        case .never: return false
        case .follow: return true
        case .sameOriginOnly:
            let target = try? RequestURL(location, relativeTo: exchange.url, isLenient: true)
            return target.map { $0.origin == exchange.url.origin } ?? true
        }
    }

    private func redirect(_ result: TransferResult, _ head: ResponseHead, batch: DeliveryBatch?) -> RedirectStep {
        let policy = template.options.redirects
        guard isFollowed(head), let location = head.location else { return .deliver }
        guard !head.hasConflictingLocations else { return .failed(redirectError(.badResponse, "its Location fields differ")) }
        let target: RequestURL
        do throws(NetworkError) {
            target = try upgradedTarget(try RequestURL(location, relativeTo: exchange.url, isLenient: true))
        } catch {
            return .failed(redirectError(error.code == .unsupportedScheme ? .redirectRefused : .badResponse, error.message))
        }
        do throws(NetworkError) { try template.options.access.check(target, phase: .receiving) } catch {
            return .failed(redirectError(error.code, error.message))
        }
        let visit = RedirectPolicy.Context.Visit(method: exchange.method, url: exchange.url.string)
        let context = RedirectPolicy.Context(
            status: head.status, location: target.string, visits: drive.visits + [visit], hasBody: exchange.body != nil,
            isBodyReplayable: canReplayBody, setsCookie: head["set-cookie"] != nil)
        StepDoor.pass(.redirectDecided, id)
        switch policy.decide(context) {
        case .deliver: return .deliver
        case .fail(let reason): return .failed(redirectError(code(of: reason), reason.description))
        case .follow(let next):
            let hop = Hop(result: result, head: head, target: target, next: next, visit: visit)
            if askAboutHop(hop) { return .followed }
            do throws(NetworkError) { try follow(nextExchange(next, to: target), visit: visit) } catch { return .failed(error) }
            goToHop(hop, target, batch: batch)
            return .followed
        }
    }

    func follow(_ next: NextExchange, visit: RedirectPolicy.Context.Visit) throws(NetworkError) {
        // Here, where every way comes along: the program may have changed where it goes.
        var next = next
        next.url = try upgradedTarget(next.url)
        try template.options.access.check(next.url, phase: .receiving)
        try checkTrust(next.url)
        drive.visits.append(visit)
        let (method, body) = (next.method, next.body)
        let isSameOrigin = next.url.origin == exchange.url.origin
        let hop = AuthenticationSession.Exchange(url: next.url, method: method, fields: next.fields, body: body)
        let fields = try drive.authentication?.fields(following: hop, isSameOrigin: isSameOrigin) ?? next.fields
        let headers = withCookies(
            try session.headerBlock(fields, method: method, body: body), to: next.url, method: method, body: body)
        exchanges.redirect(to: next.url, method, headers, body)
    }

    func redirectError(_ code: NetworkError.Code, _ message: String) -> NetworkError {
        NetworkError(code, phase: .receiving, message: message, runID: id, attempt: exchange.attempt)
    }

    func code(of reason: RedirectPolicy.Reason) -> NetworkError.Code {
        switch reason {
        case .loop: .redirectLoop
        case .bodyNotReplayable: .bodyNotReplayable
        case .unsupportedTarget, .downgrade: .redirectRefused
        default: reason == .tooMany(limit: template.options.redirects.maxRedirects) ? .tooManyRedirects : .redirectRefused
        }
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

    /// The bytes of a redirect's body that are kept: all of them where the redirect may turn out to be the result.
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
