import HTTPTypes
import Persistence

/// The decisions of an ``AuthenticationSession``: which answer goes along with an exchange, and what is done about a challenge. It knows what was sent
/// and refused before, by the server and by a proxy; memories of nonces and spaces are shared with other runs.
///
/// It belongs to its session, and so to whoever has the run.
struct AuthenticationPlanner {
    /// What goes along with an exchange.
    struct Answer: Sendable {
        let space: ProtectionSpace
        let credential: Credential
        let scheme: ChallengeStrategy.Scheme
        var digest: SpaceTable.Digest?
        /// Where it is remembered; nil for tokens, which their source knows.
        let memory: SpaceMemory?
        var domain: String?
        /// Nobody has asked for it, in this run.
        var isVolunteered = false
        /// The answers in a row to nonces that the server called stale, this one included.
        var staleAnswers = 0
        var keeps = false
    }

    enum Plan: Sendable {
        case deliver
        case answer(Answer)
        case token(TokenSource, refused: String?)
        case ask(Authentication.Handler, AuthenticationChallenge.Context)
    }

    /// The server, or the proxy.
    private struct Side {
        var sent: Answer?
        var refused: Set<ChallengeStrategy.Refusal> = []
        var failures = 0
        /// The caller's own field, or userinfo in the URL, goes out.
        var isCallersOwn = false
        /// The refused answer was right but for its nonce.
        var isStale = false
        /// The answers to stale nonces so far, that one included.
        var staleAnswers = 0
    }

    private static let mostQuestions = 20

    private let kind: Authentication.Kind
    private let place: RequestURL.Origin?
    private let home: RequestURL.Origin
    private let store: CredentialStore?
    /// Of the session.
    private let timing: any Timing
    private var server = Side()
    private var proxy = Side()
    private var hasLeftHome = false
    private var questions = 0
    private var hasReplayedToken = false
    /// Of the present exchange, decided when its head came.
    private var pending: Plan?

    init(_ options: Authentication, store: CredentialStore?, home: RequestURL, timing: any Timing) {
        kind = options.kind
        place = try? options.place?.get()
        self.home = home.origin
        self.store = store
        self.timing = timing
    }

    /// Before the first exchange, and after a redirect to another origin.
    mutating func noteFields(_ fields: HTTPFields, _ url: RequestURL) {
        server.isCallersOwn = fields[.authorization] != nil || url.hasCredentials
        proxy.isCallersOwn = fields[.proxyAuthorization] != nil && proxy.sent == nil
    }

    /// The options' own credential or token may go there.
    private func isHome(_ url: RequestURL) -> Bool { place.map { $0 == url.origin } ?? (!hasLeftHome && url.origin == home) }

    // MARK: Before an exchange

    /// The one who has the token for a URL, where nothing else speaks for the request.
    func tokens(for url: RequestURL) -> TokenSource? {
        guard case .tokens(let source) = kind, !server.isCallersOwn, isHome(url) else { return nil }
        return source
    }

    /// The token that needs no waiting, where there is one.
    func readyToken(of source: TokenSource) -> String? { source.readyToken(timing) }

    /// What goes along unasked with the present exchange.
    func volunteer(_ url: RequestURL) -> Answer? {
        guard !server.isCallersOwn else { return nil }
        switch kind {
        case .tokens(let source) where isHome(url): return source.readyToken(timing).map { token($0, url) }
        case .credential(let credential, let isPreemptive, let memory) where isHome(url):
            if let known = volunteer(url.origin, isProxy: false, path: url.path, memory) { return known }
            guard isPreemptive else { return nil }
            return Answer(
                space: ProtectionSpace(origin: url.origin, realm: ""), credential: credential,
                scheme: ChallengeStrategy.plainScheme(of: credential), memory: memory, isVolunteered: true)
        case .automatic, .none, .credential, .tokens, .handler:
            return store.flatMap { volunteer(url.origin, isProxy: false, path: url.path, $0.memory) }
        }
    }

    var knowsProxies: Bool { !proxy.isCallersOwn && store?.memory.change { $0.knowsProxies } ?? false }

    func volunteer(toProxy origin: RequestURL.Origin) -> Answer? {
        guard !proxy.isCallersOwn else { return nil }
        return store.flatMap { volunteer(origin, isProxy: true, path: "", $0.memory) }
    }

    func token(_ token: String, _ url: RequestURL, isVolunteered: Bool = true) -> Answer {
        Answer(
            space: ProtectionSpace(origin: url.origin, realm: ""), credential: .bearer(token), scheme: .bearer, memory: nil,
            isVolunteered: isVolunteered)
    }

    private func volunteer(_ origin: RequestURL.Origin, isProxy: Bool, path: String, _ memory: SpaceMemory) -> Answer? {
        let known = memory.change {
            $0.volunteer(origin, isProxy: isProxy, path: path, clientNonce: SpaceMemory.clientNonce())
        }
        return known.map {
            Answer(
                space: $0.space, credential: $0.credential, scheme: $0.scheme, digest: $0.digest, memory: memory, isVolunteered: true)
        }
    }

    mutating func note(_ answer: Answer?, isProxy: Bool) {
        if isProxy { proxy.sent = answer } else { server.sent = answer }
    }

    func hasAnswered(isProxy: Bool) -> Bool { (isProxy ? proxy : server).sent != nil }

    /// What the last exchange carried, for the next one at the same place: a digest with the next count.
    ///
    /// - Returns: nil where nothing changes.
    func renewed(isProxy: Bool) -> Answer? {
        guard var sent = (isProxy ? proxy : server).sent, sent.scheme == .digest, let memory = sent.memory else { return nil }
        let next = memory.change { $0.next(in: sent.space, of: sent.credential, clientNonce: SpaceMemory.clientNonce()) }
        guard let next else { return nil }
        sent.digest = next
        return sent
    }

    /// A new exchange.
    mutating func begin() {
        pending = nil
    }

    /// A redirect has led to another origin.
    mutating func leave(for url: RequestURL, _ fields: HTTPFields) {
        if url.origin != home { hasLeftHome = true }
        server = Side()
        noteFields(fields, url)
    }

    /// The program has its own idea of what goes along to the same origin: nothing is put in its place.
    mutating func replaceFields(_ proposed: HTTPFields, by fields: HTTPFields, _ url: RequestURL) {
        if fields[.authorization] != proposed[.authorization] || url.hasCredentials {
            server.sent = nil
            server.isCallersOwn = fields[.authorization] != nil || url.hasCredentials
        }
        if fields[.proxyAuthorization] != proposed[.proxyAuthorization] {
            proxy.sent = nil
            proxy.isCallersOwn = fields[.proxyAuthorization] != nil
        }
    }

    // MARK: After an exchange

    /// Nobody has refused it.
    mutating func accepted(_ head: ResponseHead, _ url: RequestURL) {
        // An overloaded server has not looked at it.
        guard head.status < 500 else { return }
        if head.status != 401, head.status != 407 { Self.learn(&server, head["authentication-info"], url, store) }
        if head.status != 407 { Self.learn(&proxy, head["proxy-authentication-info"], url, store) }
    }

    /// Notes that an exchange was accepted; `info` has the parameters of `Authentication-Info`, without a scheme (RFC 7616 section 3.5).
    private static func learn(_ side: inout Side, _ info: String?, _ url: RequestURL, _ store: CredentialStore?) {
        guard let sent = side.sent else { return }
        if sent.scheme == .digest, let info, let next = AuthenticationChallenge.parse("Digest " + info).first?.parameters["nextnonce"] {
            sent.memory?.change { $0.follow(by: next, in: sent.space, of: sent.credential, clientNonce: SpaceMemory.clientNonce()) }
        }
        guard !sent.isVolunteered else { return }
        side.sent?.isVolunteered = true
        side.sent?.staleAnswers = 0
        var memories = sent.memory.map { [$0] } ?? []
        if sent.keeps, let store {
            store.set(sent.credential, for: sent.space)
            memories = [store.memory]
        }
        for memory in memories {
            memory.change { $0.learn(sent.space, sent.credential, sent.scheme, path: url.path, domain: sent.domain) }
        }
    }

    /// Decides about a 401 or 407. The first call of an exchange decides, later ones get the same plan.
    ///
    /// - Parameters:
    ///   - head: the response that asks for credentials.
    ///   - url: the URL that answered.
    ///   - method: the method of the request that was refused.
    ///   - proxy: the one the request went to; nil where it went to the server, or through a tunnel.
    ///   - mayAsk: the program may be called for this run.
    /// - Returns: the next step of the run.
    mutating func plan(_ head: ResponseHead, _ url: RequestURL, _ method: HTTPRequest.Method, proxy: RequestURL.Origin?, mayAsk: Bool)
        -> Plan
    {
        if let pending { return pending }
        let made = makePlan(head, url, method, proxy, mayAsk)
        pending = made
        return made
    }

    private mutating func makePlan(
        _ head: ResponseHead, _ url: RequestURL, _ method: HTTPRequest.Method, _ proxyOrigin: RequestURL.Origin?, _ mayAsk: Bool
    ) -> Plan {
        let isProxy = head.status == 407
        // A server that plays the proxy gets nothing.
        guard let origin = isProxy ? proxyOrigin : url.origin else { return .deliver }
        if !isProxy { accepted(head, url) }
        let challenges = Self.challenges(head)
        let refused = isProxy ? Self.refuse(&proxy, challenges) : Self.refuse(&server, challenges)
        if case .handler(let handler) = kind, mayAsk, questions < Self.mostQuestions {
            questions += 1
            let context = AuthenticationChallenge.Context(
                space: ProtectionSpace(origin: origin, realm: challenges.first?.realm ?? "", isProxy: isProxy), challenges: challenges,
                previousFailureCount: (isProxy ? proxy : server).failures, response: head, url: url.description,
                method: method)
            return .ask(handler, context)
        }
        return planWithoutAsking(challenges, origin, url, isProxy: isProxy, refused: refused, mayAsk: mayAsk)
    }

    static func challenges(_ head: ResponseHead) -> [AuthenticationChallenge] {
        let name = head.status == 407 ? "proxy-authenticate" : "www-authenticate"
        return head.withFields { $0.values(of: name) }.flatMap { AuthenticationChallenge.parse($0) }
    }

    /// - Returns: what was refused.
    private static func refuse(_ side: inout Side, _ challenges: [AuthenticationChallenge]) -> Answer? {
        side.isStale = false
        side.staleAnswers = 0
        guard let sent = side.sent else {
            if side.isCallersOwn { side.failures += 1 }
            return nil
        }
        side.sent = nil
        if sent.scheme == .digest, let nonce = sent.digest?.challenge.nonce,
            let fresh = challenges.lazy.compactMap({ DigestChallenge($0) }).first, fresh.nonce != nonce
        {
            // A nonce from before this run may be too old without anybody saying so.
            side.isStale = fresh.isStale && sent.staleAnswers < DigestExchange.mostStaleAnswers || sent.isVolunteered
            if side.isStale { side.staleAnswers = sent.staleAnswers + 1 }
        }
        guard !side.isStale else { return sent }
        side.failures += 1
        side.refused.insert(ChallengeStrategy.Refusal(sent.credential, sent.scheme))
        if sent.isVolunteered { sent.memory?.change { $0.forget(sent.space) } }
        return sent
    }

    /// What the handler leaves open.
    mutating func planWithoutAsking(
        _ challenges: [AuthenticationChallenge], _ origin: RequestURL.Origin, _ url: RequestURL, isProxy: Bool, refused: Answer?,
        mayAsk: Bool
    ) -> Plan {
        guard !(isProxy ? proxy : server).isCallersOwn else { return .deliver }
        switch kind {
        case .none: return .deliver
        case .tokens(let source) where !isProxy && isHome(url):
            return tokenPlan(source, challenges, url, refused: refused, mayAsk: mayAsk)
        case .credential(let credential, _, let memory) where !isProxy && isHome(url):
            return answer(challenges, origin, isProxy: false, refused: refused, memory: memory) { _ in credential }
        case .automatic, .credential, .tokens, .handler:
            guard let store else { return .deliver }
            return answer(challenges, origin, isProxy: isProxy, refused: refused, memory: store.memory) {
                store.credential(for: ProtectionSpace(origin: origin, realm: $0, isProxy: isProxy))
            }
        }
    }

    private mutating func tokenPlan(
        _ source: TokenSource, _ challenges: [AuthenticationChallenge], _ url: RequestURL, refused: Answer?, mayAsk: Bool
    ) -> Plan {
        guard !hasReplayedToken, ChallengeStrategy.wantsToken(challenges) else { return .deliver }
        hasReplayedToken = true
        var old: String?
        if case .bearer(let token) = refused?.credential.kind { old = token }
        if mayAsk { return .token(source, refused: old) }
        guard let ready = source.readyToken(timing), old.map({ ExactString($0) != ExactString(ready) }) ?? true else { return .deliver }
        return .answer(token(ready, url, isVolunteered: false))
    }

    /// What the handler has given.
    mutating func plan(using credential: Credential, keeps: Bool, _ context: AuthenticationChallenge.Context) -> Plan {
        let memory = store?.memory ?? SpaceMemory()
        // A token goes out where the handler says so, whatever the server calls it.
        let isToken = if case .bearer = credential.kind { true } else { false }
        let isProxy = context.space.isProxy
        if isProxy { proxy.isCallersOwn = false } else { server.isCallersOwn = false }
        return answer(
            isToken ? [] : context.challenges, context.space.origin, isProxy: isProxy, refused: nil, memory: memory, keeps: keeps
        ) { _ in credential }
    }

    private func answer(
        _ challenges: [AuthenticationChallenge], _ origin: RequestURL.Origin, isProxy: Bool, refused: Answer?, memory: SpaceMemory,
        keeps: Bool = false, _ credential: (String) -> Credential?
    ) -> Plan {
        let side = isProxy ? proxy : server
        guard let choice = ChallengeStrategy.choose(challenges, refused: side.refused, credential: credential) else { return .deliver }
        let space = ProtectionSpace(origin: origin, realm: choice.realm, isProxy: isProxy)
        var answer = Answer(
            space: space, credential: choice.credential, scheme: choice.scheme, memory: memory, domain: choice.domain, keeps: keeps)
        guard let challenge = choice.digest else { return .answer(answer) }
        let last = refused?.scheme == .digest && refused?.isVolunteered == false ? refused : nil
        answer.staleAnswers = side.staleAnswers
        let digest = memory.change {
            $0.digest(
                challenge, in: space, of: choice.credential, answered: last?.digest?.challenge.nonce,
                staleAnswers: last?.staleAnswers ?? 0, clientNonce: SpaceMemory.clientNonce())
        }
        guard let digest else { return .deliver }
        answer.digest = digest
        return .answer(answer)
    }
}
