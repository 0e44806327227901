/// How a request proves who is asking, and what it does about a 401 or 407 (RFC 9110 section 11).
///
/// Set for one request or, in the session's options, for all. An `Authorization` field of the request's own wins: it is sent as it is, and
/// a refusal is the result unless a handler is set. A credential that is refused is not sent again in the same run. Redirects to another
/// origin leave everything behind; there only what the session's ``CredentialStore``, or the handler, has for that origin is used.
public struct Authentication: Sendable {
    package typealias Handler = Hook<AuthenticationChallenge.Context, AuthenticationChallenge.Answer>

    package enum Kind: Sendable {
        case automatic
        case none
        case credential(Credential, preemptive: Bool, SpaceMemory)
        case tokens(TokenSource)
        case handler(Handler)
    }

    package let kind: Kind
    /// The only one that gets it; nil for that of the request's own URL.
    let place: Result<RequestURL.Origin, NetworkError>?
    /// True where a run that is being started is to have none of it.
    private(set) var isExempt: (@Sendable () -> Bool)?

    private init(_ kind: Kind, at url: (any URLConvertible)? = nil) {
        self.kind = kind
        place = url.map { url in
            do throws(NetworkError) { return .success(try RequestURL(url.urlReference).origin) } catch { return .failure(error) }
        }
    }

    /// The session's ``CredentialStore``, where it has one. The default.
    public static let automatic = Authentication(.automatic)

    /// Nothing is sent and no challenge answered.
    public static let none = Authentication(.none)

    /// Answers challenges with one credential.
    ///
    /// - Parameters:
    ///   - credential: the name and password, or the token, to send.
    ///   - preemptive: sends it at once, by Basic or as a token, without waiting for a challenge. Default: false; what the server's space
    ///     covers gets it at once after the first success, as long as the same value of these options is used.
    ///   - url: any URL of the only server that gets it. Nil, the default, is the server of the request's own URL; in the options of a
    ///     session that asks several servers that is each of them, so name one there. What is no URL fails the request with `invalidURL`.
    /// - Returns: a value to assign to ``RequestOptions/authentication``.
    public static func credential(_ credential: Credential, preemptive: Bool = false, at url: (any URLConvertible)? = nil) -> Authentication
    {
        Authentication(.credential(credential, preemptive: preemptive, SpaceMemory()), at: url)
    }

    /// Sends a token that is renewed when a server refuses it.
    ///
    /// - Parameters:
    ///   - source: the source of the token. Requests that share it share the token and its renewal.
    ///   - url: any URL of the only server that gets it, as in ``credential(_:preemptive:at:)``.
    /// - Returns: a value to assign to ``RequestOptions/authentication``.
    public static func tokens(_ source: TokenSource, at url: (any URLConvertible)? = nil) -> Authentication {
        Authentication(.tokens(source), at: url)
    }

    /// The same, but for runs that are started where a condition holds: these send nothing, and their challenges are not answered.
    ///
    /// For requests of a login, which would wait for their own end.
    ///
    /// - Parameter isExempt: asked once for each run, in the task that starts it, whose task-local values it sees.
    /// - Returns: a value to assign to ``RequestOptions/authentication``.
    public func except(where isExempt: @escaping @Sendable () -> Bool) -> Authentication {
        var copy = self
        copy.isExempt = isExempt
        return copy
    }

    /// Asks the program about each 401, and about each 407 of a proxy for plain http.
    ///
    /// The closure is called on a task of its own, cancelled with the request; at most 20 times a run. It is not called for a run that was
    /// cancelled, or whose owner has gone, also where it belongs to an actor and has to wait for that. The options hold it, and so do
    /// requests and the session: capture owners weakly, or use ``handler(for:_:)``.
    public static func handler(
        fileID: StaticString = #fileID, line: Int = #line,
        _ answer: @escaping @Sendable @isolated(any) (AuthenticationChallenge.Context) async -> AuthenticationChallenge.Answer
    ) -> Authentication {
        Authentication(.handler(Hook(answer, origin: CodeOrigin(fileID, line))))
    }

    /// Asks an owner about each challenge. The owner is held weakly, and while it is asked; when it is gone, the session's
    /// ``CredentialStore`` has the word.
    public static func handler<Owner: AnyObject & Sendable>(
        for owner: Owner, fileID: StaticString = #fileID, line: Int = #line,
        _ answer: @escaping @Sendable @isolated(any) (Owner, AuthenticationChallenge.Context) async -> AuthenticationChallenge.Answer
    ) -> Authentication {
        Authentication(.handler(Hook(owner: owner, answer, origin: CodeOrigin(fileID, line))))
    }
}
