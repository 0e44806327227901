import FoundationEssentials
import HTTPTypes

/// The redirects of a run so far.
struct RedirectState {
    var visits: [RedirectPolicy.Context.Visit] = []
    /// The jar has filled the `Cookie` field in, not the caller.
    var hasJarCookies = false
}

/// A run that follows redirects. The ``RedirectPlanner`` decides, and the program has a say in it.
protocol RedirectedRun: AuthenticatedRun {
    var redirecting: RedirectState { get set }
    var caching: CacheState { get set }
    /// Stores a response that is not to be the run's own.
    func storeInCache(_ result: TransferResult)
}

extension RedirectedRun {
    typealias Hop = RedirectPlanner.Hop

    func isFollowed(_ head: ResponseHead) -> Bool {
        !isRefresh && RedirectPlanner.isFollowed(head, from: exchanges.sentURL, template.options.redirects.mode)
    }

    private var planner: RedirectPlanner {
        RedirectPlanner(template.options, exchanges.located, own: exchanges.ownHeaders.fields, visits: redirecting.visits, runID: id)
    }

    func redirect(_ input: inout StepInput) -> RunEvent? {
        guard let result = input.result, let head = result.head, isFollowed(head) else { return .declined(.redirect) }
        storeInCache(result)
        // Its owner has gone, and those it went on for find the redirect in the cache and follow it themselves.
        if isMuted { _ = cancel(reason) }
        guard mayGoOn else {
            abandonWork()
            return nil
        }
        let step = planner.step(head, isBodyReplayable: canReplayBody) { url throws(NetworkError) in try upgradedTarget(url) }
        switch step {
        case .deliver: return .declined(.redirect)
        case .fail(let error): return failed(error, &input)
        case .follow(let hop):
            if ask(about: hop, result) { return nil }
            do throws(NetworkError) { try follow(hop.proposed, visit: hop.visit) } catch { return failed(error, &input) }
            return leave(by: hop, to: hop.target)
        }
    }

    /// - Returns: false when nobody has to be asked.
    private func ask(about hop: Hop, _ result: TransferResult) -> Bool {
        let proposal = planner.proposal(hop, isStored: receiving.source != .network, hidesCookies: redirecting.hasJarCookies)
        guard let question = question({ $0.redirect }, { proposal }) else {
            guard hop.proposed.body.map({ !$0.isReplayable }) ?? false else { return false }
            follow(hop, hop.proposed, result)
            return true
        }
        ask(question) { (run: Self, answer: RedirectPolicy.Answer?) in
            switch answer?.kind {
            case nil, .follow: run.follow(hop, hop.proposed, result)
            case .stop: run.stop(at: hop, result)
            case .change(let next): run.follow(hop, changed: next, from: proposal.proposed, result)
            }
        }
        return true
    }

    // MARK: Following

    /// With the body asked for, where it needs another one.
    private func follow(_ hop: Hop, _ next: NextExchange, _ result: TransferResult) {
        let replay = RequestHooks.BodyReplayRequest(runID: id, reason: .redirect, url: next.url.string, method: next.method)
        replayBody(next.body, replay) { run, body in
            do throws(NetworkError) {
                guard let body else {
                    throw run.error(.bodyNotReplayable, .receiving, RedirectPolicy.Reason.bodyNotReplayable.description)
                }
                var next = next
                next.replaceBody(body)
                try next.body?.check(for: next.method)
                try run.follow(next, visit: hop.visit)
            } catch { return run.fail(error, result) }
            run.receive(run.leave(by: hop, to: next.url))
        }
    }

    private func follow(
        _ hop: Hop, changed next: RequestHooks.NextRequest, from proposed: RequestHooks.NextRequest, _ result: TransferResult
    ) {
        do throws(NetworkError) {
            let changed = try planner.reviewed(next, proposed, hop)
            if changed.fields[.cookie] != nil { redirecting.hasJarCookies = false }
            authentication?.replaceFields(proposed.headers, by: changed.fields, changed.url)
            follow(hop, changed, result)
        } catch { fail(error, result) }
    }

    private func follow(_ next: NextExchange, visit: RedirectPolicy.Context.Visit) throws(NetworkError) {
        // Here, where every way comes along: the program may have changed where it goes.
        let url = try upgradedTarget(next.url)
        try template.options.access.check(url, phase: .receiving)
        try checkTrust(url)
        redirecting.visits.append(visit)
        let hop = AuthenticationSession.Exchange(url: url, method: next.method, fields: next.fields, body: next.body)
        let fields = try authentication?.fields(following: hop, isSameOrigin: url.origin == exchanges.sentURL.origin) ?? next.fields
        let block = try session.headerBlock(fields, method: next.method, body: next.body)
        exchanges.redirect(to: url, next.method, withCookies(block, to: url, method: next.method, body: next.body), next.body)
    }

    /// From here on the redirect is on its way.
    private func leave(by hop: Hop, to target: RequestURL) -> RunEvent {
        // Without userinfo, as all that observers hear.
        let origin = (try? RequestURL(hop.visit.url))?.description ?? ""
        feed?.push(observed: .redirected(from: origin, to: target.description, status: hop.head.status), from: self)
        caching.transaction = nil
        return .changed(elsewhere: true)
    }

    // MARK: Stopping

    /// The bytes of a redirect's body that are kept: all of them where the redirect may turn out to be the result.
    func keptBytes(ofRedirect head: ResponseHead) -> Int {
        guard template.options.validation.accepts(head.status), hook({ $0.redirect }) != nil else { return template.errorBodyBytes }
        return template.options.limits.bodyBytes
    }

    /// The 3xx is the result. Its body was not meant for anybody, and so is in memory.
    private func stop(at hop: Hop, _ result: TransferResult) {
        guard template.options.validation.accepts(hop.head.status) else { return declineRedirect(result) }
        guard receiving.source != .network || result.metrics.bodyBytesReceived <= Int64(result.body.count) else {
            let message = "the response body exceeds \(template.options.limits.bodyBytes) bytes"
            return fail(error(.bodyTooLarge, .receiving, message), result)
        }
        // That of a stored one is told with its body.
        if receiving.source == .network { feed?.pushHead(hop.head, from: self, batch: .direct) }
        if let stream {
            if !result.body.isEmpty { _ = result.body.withUnsafeBytes { stream.offer($0) } }
            stream.finish(nil)
            // Its reader has it: interceptors cannot put another one in its place.
            receiving.bodyIsValue = true
        }
        let isAsked = askForFile(hop.head) { run, place in
            run.downloading.file = FileSink(place)
            run.declineRedirect(result)
        }
        if !isAsked { declineRedirect(result) }
    }

    private func declineRedirect(_ result: TransferResult) { receive(.declined(.redirect), StepInput(result: result)) }
}
