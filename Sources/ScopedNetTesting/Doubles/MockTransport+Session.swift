public import ScopedNet

extension MockTransport {
    /// Creates a session over a mock of its own, with an agent of its own; ``ScopedNet/Session/mock`` is the mock.
    ///
    /// ```swift
    /// let hn = MockTransport.session("http://hn.test/v0/")
    /// hn.mock.on(.get, "topstories", .json(stories))
    /// ```
    ///
    /// Nothing is sent to `baseURL`, the base of relative URLs, of requests and of routes; end it with a slash. `unanswered` is the fate of a request
    /// without an answer: by default it fails. `change` makes further settings: `{ $0.use(clock) }`, say.
    public static func session(
        _ baseURL: String = "http://mock.test/", unanswered: Unanswered = .fail, fileID: StaticString = #fileID, line: Int = #line,
        _ change: (inout Session.Configuration) -> Void = { _ in }
    ) -> Session {
        var configuration = Session.Configuration(customTransport: MockTransport(unanswered: unanswered), agent: RequestAgent())
        configuration.baseURL = baseURL
        change(&configuration)
        return Session(configuration: configuration, fileID: fileID, line: line)
    }
}

extension Session {
    /// The mock that answers this session. A session over another transport has none: to ask it is a programming error, and traps.
    public var mock: MockTransport {
        guard let mock = configuration.customTransport as? MockTransport else {
            preconditionFailure("Session.mock: the session has no MockTransport; make it by MockTransport.session(_:)")
        }
        return mock
    }
}
