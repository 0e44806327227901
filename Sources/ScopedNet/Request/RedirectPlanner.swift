import FoundationEssentials
import HTTPTypes

/// The next exchange of a redirect.
struct NextExchange: Sendable {
    var url: RequestURL
    var method: HTTPRequest.Method
    var fields: HTTPFields
    var body: RequestBody?

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

/// The decision about one 3xx: whether it leads on, where to, and with what. By the policy, and once more by the same rules for what the program has
/// made of it. It calls nobody.
struct RedirectPlanner {
    /// A redirect that the policy follows.
    struct Hop: Sendable {
        let head: ResponseHead
        let target: RequestURL
        let visit: RedirectPolicy.Context.Visit
        /// The next exchange, as the policy wants it.
        let proposed: NextExchange
    }

    enum Step {
        /// A response like all others.
        case deliver
        case fail(NetworkError)
        case follow(Hop)
    }

    private let options: RequestOptions
    private let exchange: TransferRequest
    /// The request's own, without what the cache has made of them.
    private let fields: HTTPFields
    private let visits: [RedirectPolicy.Context.Visit]
    private let runID: UInt64

    /// `own` are the fields of the exchange without what the cache has made of them.
    init(_ options: RequestOptions, _ exchange: TransferRequest, own: HTTPFields, visits: [RedirectPolicy.Context.Visit], runID: UInt64) {
        self.options = options
        self.exchange = exchange
        fields = own
        self.visits = visits
        self.runID = runID
    }

    /// True where this response leads on, or is refused because of where it leads; any other is a response like all others.
    static func isFollowed(_ head: ResponseHead, from url: RequestURL, _ mode: RedirectPolicy.Mode) -> Bool {
        guard [301, 302, 303, 307, 308].contains(head.status), let location = head.location else { return false }
        switch mode {
        case .never: return false
        case .follow: return true
        case .sameOriginOnly:
            let target = try? RequestURL(location, relativeTo: url, isLenient: true)
            return target.map { $0.origin == url.origin } ?? true
        }
    }

    // MARK: The policy

    /// Decides about a response that leads on. `secured` gives the URL that is asked in the place of one whose host wants https.
    func step(
        _ head: ResponseHead, isBodyReplayable: Bool, secured: (RequestURL) throws(NetworkError) -> RequestURL
    ) -> Step {
        guard let location = head.location else { return .deliver }
        guard !head.hasConflictingLocations else { return .fail(error(.badResponse, "its Location fields differ")) }
        let target: RequestURL
        do throws(NetworkError) { target = try secured(try RequestURL(location, relativeTo: exchange.url, isLenient: true)) } catch {
            return .fail(self.error(error.code == .unsupportedScheme ? .redirectRefused : .badResponse, error.message))
        }
        do throws(NetworkError) { try options.access.check(target, phase: .receiving) } catch {
            return .fail(self.error(error.code, error.message))
        }
        let visit = RedirectPolicy.Context.Visit(method: exchange.method, url: exchange.url.string)
        let context = RedirectPolicy.Context(
            status: head.status, location: target.string, visits: visits + [visit], hasBody: exchange.body != nil,
            isBodyReplayable: isBodyReplayable, setsCookie: head["set-cookie"] != nil)
        StepDoor.pass(.redirectDecided, runID)
        switch options.redirects.decide(context) {
        case .deliver: return .deliver
        case .fail(let reason): return .fail(error(code(of: reason), reason.description))
        case .follow(let next):
            let proposed = NextExchange(
                url: target, method: next.method, fields: HTTPFields(fields.filter { !next.drops($0.name.rawName) }),
                body: next.keepsBody ? exchange.body : nil)
            return .follow(Hop(head: head, target: target, visit: visit, proposed: proposed))
        }
    }

    private func error(_ code: NetworkError.Code, _ message: String) -> NetworkError {
        NetworkError(code, phase: .receiving, message: message, runID: runID, attempt: exchange.attempt)
    }

    private func code(of reason: RedirectPolicy.Reason) -> NetworkError.Code {
        switch reason {
        case .loop: .redirectLoop
        case .bodyNotReplayable: .bodyNotReplayable
        case .unsupportedTarget, .downgrade: .redirectRefused
        default: reason == .tooMany(limit: options.redirects.maxRedirects) ? .tooManyRedirects : .redirectRefused
        }
    }

    // MARK: The program

    /// The question for the program. The jar puts its cookies in again, the right ones for where it goes: with `hidesCookies` they are not shown.
    func proposal(_ hop: Hop, isStored: Bool, hidesCookies: Bool) -> RequestHooks.RedirectProposal {
        let last = NextExchange(url: exchange.url, method: exchange.method, fields: fields, body: exchange.body)
        return RequestHooks.RedirectProposal(
            runID: runID, number: visits.count + 1, head: hop.head, isStored: isStored, request: Self.shown(last, hidesCookies),
            proposed: Self.shown(hop.proposed, hidesCookies))
    }

    private static func shown(_ exchange: NextExchange, _ hidesCookies: Bool) -> RequestHooks.NextRequest {
        var fields = exchange.fields
        if hidesCookies { fields[.cookie] = nil }
        return RequestHooks.NextRequest(url: exchange.url.string, method: exchange.method, headers: fields, keepsBody: exchange.body != nil)
    }

    /// The same rules again, for what the program made of it.
    func reviewed(_ next: RequestHooks.NextRequest, _ proposed: RequestHooks.NextRequest, _ hop: Hop) throws(NetworkError) -> NextExchange {
        let url: RequestURL
        do throws(NetworkError) { url = try RequestURL(next.url, relativeTo: hop.target) } catch {
            throw self.error(error.code == .unsupportedScheme ? .redirectRefused : .invalidURL, error.message)
        }
        let context = RedirectPolicy.Context(
            status: hop.head.status, location: url.string, visits: visits + [hop.visit], setsCookie: hop.head["set-cookie"] != nil)
        let fields: HTTPFields
        switch options.redirects.review(context, method: next.method, fields: next.headers, proposed: proposed.headers) {
        case .refuse(let reason): throw error(code(of: reason), reason.description)
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
}
