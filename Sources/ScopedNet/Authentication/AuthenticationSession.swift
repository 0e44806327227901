import FoundationEssentials
import HTTPTypes

/// The credentials that go along with the exchanges of one run, and the answers to 401 and 407. Made where there are any.
///
/// It calls nobody: it says what is next (``Step``), and the run does that. It belongs to whoever has the run.
final class AuthenticationSession {
    typealias Answer = AuthenticationPlanner.Answer

    /// The parts of an exchange that credentials depend on.
    struct Exchange {
        var url: RequestURL
        var method: HTTPRequest.Method
        var fields: HTTPFields
        var body: RequestBody?
    }

    /// The next step before the first exchange.
    enum Opening {
        /// It goes out with these fields; nil where nothing is added.
        case fields(HTTPFields?)
        /// A token is fetched first.
        case token(TokenSource)
    }

    /// The next step after a response.
    enum Step {
        /// No challenge, or one that is not answered: the response is one like all others.
        case pass
        /// The request goes out once more, with this.
        case resend(Answer)
        /// A token is fetched in the place of the refused one, and the request goes out once more with it.
        case token(TokenSource, refused: String?)
        /// The program is asked.
        case ask(Authentication.Handler, AuthenticationChallenge.Context)
        /// The refusal came from the cache and says nothing about the credentials of this run: the server is asked.
        case askServer
        /// The program gave up.
        case fail(NetworkError)
    }

    private let place: Result<RequestURL.Origin, NetworkError>?
    /// The proxy that a request goes to in plain text; nil where there is none.
    private let proxyOrigin: (RequestURL) -> RequestURL.Origin?
    private var planner: AuthenticationPlanner
    /// The present exchange's challenge is not answered: it is the result.
    private(set) var isDeclined = false
    /// A stored refusal was found: the server is asked.
    private(set) var readsNothingStored = false

    /// - Parameters:
    ///   - options: those of the request.
    ///   - store: the credentials of the session.
    ///   - home: the URL of the request.
    ///   - timing: the clock of the session.
    ///   - proxyOrigin: finds the proxy that a request goes to in plain text.
    init(
        _ options: Authentication, store: CredentialStore?, home: RequestURL, timing: any Timing,
        proxyOrigin: @escaping (RequestURL) -> RequestURL.Origin?
    ) {
        place = options.place
        self.proxyOrigin = proxyOrigin
        planner = AuthenticationPlanner(options, store: store, home: home, timing: timing)
    }

    /// False where there is nothing to say, as for most runs.
    static func isNeeded(_ options: Authentication, store: CredentialStore?) -> Bool {
        if options.isExempt?() == true { return false }
        switch options.kind {
        case .automatic: return store != nil
        case .none: return false
        case .credential, .handler: return true
        case .tokens(let source):
            if case .failure = options.place { return true }
            // A request of the renewal itself does not wait for its end.
            return !source.isRenewingHere
        }
    }

    // MARK: The first exchange

    /// Before it asks the cache: stored responses may depend on who asks.
    ///
    /// - Throws: `invalidURL` where the only server that gets the credential has none; the errors of ``AnswerField``.
    func open(_ first: Exchange) throws(NetworkError) -> Opening {
        if case .failure(let error) = place { throw error }
        planner.noteFields(first.fields, first.url)
        guard let source = planner.tokens(for: first.url) else { return .fields(try fields(of: first, planner.volunteer(first.url))) }
        // One look: a moment later it may have expired.
        guard let token = planner.readyToken(of: source) else { return .token(source) }
        return .fields(try fields(of: first, planner.token(token, first.url)))
    }

    /// The fields of the first exchange with the token that was fetched for it; nil where nothing is added.
    func open(_ first: Exchange, with token: String) throws(NetworkError) -> HTTPFields? {
        try fields(of: first, planner.token(token, first.url))
    }

    private func fields(of first: Exchange, _ answer: Answer?) throws(NetworkError) -> HTTPFields? {
        let forProxy = answerToProxy(for: first.url)
        guard answer != nil || forProxy != nil else { return nil }
        var fields = first.fields
        for (answer, isProxy) in [(answer, false), (forProxy, true)] {
            // One that would have to hash a body waits until it is asked for.
            guard let answer, !answer.hashesBody || first.body == nil else { continue }
            try put(answer, into: &fields, isProxy: isProxy, first, body: [])
        }
        return fields
    }

    private func answerToProxy(for url: RequestURL) -> Answer? {
        guard planner.knowsProxies, let proxy = proxyOrigin(url) else { return nil }
        return planner.volunteer(toProxy: proxy)
    }

    // MARK: Responses

    /// True where this response leads to another exchange or to a question, and its body is nothing for the program. With the head; the first
    /// call for an exchange decides.
    func leadsOn(_ head: ResponseHead, _ exchange: TransferRequest, mayAsk: Bool) -> Bool {
        guard isChallenge(head) else { return false }
        if case .deliver = plan(head, exchange, mayAsk) { return false }
        return true
    }

    /// `mayAsk` is false where the program is not called for this run any more, and `mayAskServer` where a stored response may not be passed by.
    func received(
        _ head: ResponseHead, _ exchange: TransferRequest, from source: ResponseSource, mayAsk: Bool, mayAskServer: Bool
    ) -> Step {
        guard !isDeclined else { return .pass }
        guard isChallenge(head) else {
            if source != .cache { planner.accepted(head, exchange.url) }
            return .pass
        }
        guard source == .cache else { return step(plan(head, exchange, mayAsk)) }
        guard !readsNothingStored, mayAskServer else { return .pass }
        readsNothingStored = true
        return .askServer
    }

    /// The token that was fetched in the place of a refused one.
    func answer(with token: String, _ exchange: TransferRequest) -> Answer { planner.token(token, exchange.url, isVolunteered: false) }

    /// Takes the answer of the program.
    func answered(
        _ answer: AuthenticationChallenge.Answer, _ context: AuthenticationChallenge.Context, _ exchange: TransferRequest
    ) -> Step {
        switch answer.kind {
        case .use(let credential, let keeps): return step(planner.plan(using: credential, keeps: keeps, context))
        case .performDefault:
            return step(
                planner.planWithoutAsking(
                    context.challenges, context.space.origin, exchange.url, isProxy: context.space.isProxy, refused: nil, mayAsk: false))
        case .deliver: return .pass
        case .cancel(let error):
            return .fail(
                NetworkError(.authenticationFailed, phase: .receiving, message: "the handler of challenges gave up", underlying: error))
        }
    }

    /// After the program was asked: the challenge is the result.
    func decline() { isDeclined = true }

    /// The origin and realm of a challenge, for observers.
    func space(of head: ResponseHead, _ url: RequestURL) -> ProtectionSpace {
        let isProxy = head.status == 407
        return ProtectionSpace(
            origin: isProxy ? proxyOrigin(url) ?? url.origin : url.origin, realm: AuthenticationPlanner.challenges(head).first?.realm ?? "",
            isProxy: isProxy)
    }

    private func isChallenge(_ head: ResponseHead) -> Bool { head.status == 401 || head.status == 407 }

    private func plan(_ head: ResponseHead, _ exchange: TransferRequest, _ mayAsk: Bool) -> AuthenticationPlanner.Plan {
        let proxy = head.status == 407 ? proxyOrigin(exchange.url) : nil
        return planner.plan(head, exchange.url, exchange.method, proxy: proxy, mayAsk: mayAsk)
    }

    private func step(_ plan: AuthenticationPlanner.Plan) -> Step {
        switch plan {
        case .deliver: .pass
        case .answer(let answer): .resend(answer)
        case .token(let source, let refused): .token(source, refused: refused)
        case .ask(let handler, let context): .ask(handler, context)
        }
    }

    // MARK: The next exchange

    /// The same exchange once more: nothing is known of its challenge.
    func begin() {
        planner.begin()
        isDeclined = false
    }

    /// The fields of the same request with the answer to a challenge. `bytes` reads the body where a hash of it is asked for; it gives nil for one
    /// that cannot be read, or not be held.
    func fields(
        answering answer: Answer, _ last: Exchange, bytes: (RequestBody?) throws(NetworkError) -> [UInt8]?
    ) throws(NetworkError) -> HTTPFields {
        let isProxy = answer.space.isProxy
        var fields = last.fields
        let body = answer.hashesBody ? try bytes(last.body) : []
        // The other side has seen this exchange, and its nonce.
        if let other = planner.renewed(isProxy: !isProxy) {
            let body = other.hashesBody && !answer.hashesBody ? try bytes(last.body) : body
            try put(other, into: &fields, isProxy: !isProxy, last, body: body)
        }
        try put(answer, into: &fields, isProxy: isProxy, last, body: body)
        return fields
    }

    /// The fields of another attempt: a nonce is used again with the next count.
    ///
    /// - Returns: nil where nothing changes.
    func fields(retrying last: Exchange) -> HTTPFields? {
        begin()
        var fields = last.fields
        // A field that was well formed once is so again; where not, the server says that the nonce is used up.
        guard (try? renew(&fields, last)) == true else { return nil }
        return fields
    }

    /// The fields of a redirected request, without what must not go there.
    func fields(following next: Exchange, isSameOrigin: Bool) throws(NetworkError) -> HTTPFields {
        begin()
        var fields = next.fields
        if isSameOrigin {
            _ = try renew(&fields, next)
            return fields
        }
        // The answer to a proxy's challenge here says nothing there; what the program has set itself goes where it says.
        if planner.hasAnswered(isProxy: true) { fields[.proxyAuthorization] = nil }
        planner.note(nil, isProxy: true)
        planner.leave(for: next.url, fields)
        if let answer = planner.volunteer(next.url), !answer.hashesBody || next.body == nil {
            try put(answer, into: &fields, isProxy: false, next, body: [])
        }
        if let answer = answerToProxy(for: next.url) { try put(answer, into: &fields, isProxy: true, next, body: []) }
        return fields
    }

    /// The program has its own idea of what goes along to the same origin: nothing is put in its place.
    func replaceFields(_ proposed: HTTPFields, by fields: HTTPFields, _ url: RequestURL) {
        planner.replaceFields(proposed, by: fields, url)
    }

    /// - Returns: false where nothing changes.
    private func renew(_ fields: inout HTTPFields, _ exchange: Exchange) throws(NetworkError) -> Bool {
        var isChanged = false
        for isProxy in [false, true] {
            guard let answer = planner.renewed(isProxy: isProxy) else { continue }
            isChanged = true
            if answer.hashesBody, exchange.body != nil {
                // Asked for once more it is hashed with the body, where that may block.
                fields[isProxy ? .proxyAuthorization : .authorization] = nil
                planner.note(nil, isProxy: isProxy)
            } else {
                try put(answer, into: &fields, isProxy: isProxy, exchange, body: [])
            }
        }
        return isChanged
    }

    /// Puts an answer among the fields and notes that it goes out.
    private func put(
        _ answer: Answer, into fields: inout HTTPFields, isProxy: Bool, _ exchange: Exchange, body: [UInt8]?
    ) throws(NetworkError) {
        fields[isProxy ? .proxyAuthorization : .authorization] = try AnswerField.value(
            answer.credential, digest: answer.digest, method: exchange.method.rawValue, target: exchange.url.target, body: body)
        planner.note(answer, isProxy: isProxy)
    }
}

extension AuthenticationPlanner.Answer {
    /// It is made of the body, too.
    fileprivate var hashesBody: Bool { digest?.challenge.protection == .authInt }
}
