public import ScopedNetEndpoints

extension MockTransport {
    /// Answers the calls of all endpoints of a type; before routes, behind replies that were enqueued.
    ///
    /// ```swift
    /// client.session.mock.stub(ListStories.self) { endpoint in endpoint.page > 2 ? .json([Story]()) : .json(stories) }
    /// client.session.mock.stub(SignIn.self) { _ in .status(401).after(.seconds(1)) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: the endpoint's. A later stub of the same type takes its place.
    ///   - reply: asked at each exchange, on any thread, with the endpoint as it was sent. Nil: as if there were no stub.
    public func stub<E: Endpoint>(_ type: E.Type, _ reply: @escaping @Sendable (E) -> MockReply?) {
        setStub(type) { endpoint in (endpoint as? E).flatMap(reply) }
    }

    /// Takes a stub away.
    public func removeStub<E: Endpoint>(_ type: E.Type) { setStub(type, nil) }
}

extension MockExchange {
    /// The endpoint that is called; nil for a request that was made without one.
    public var endpoint: (any Endpoint)? { userInfo[APICall.endpointKey] as? any Endpoint }
}
