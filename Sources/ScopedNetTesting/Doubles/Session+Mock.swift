public import Dispatch
@_spi(Transport) public import ScopedNet

extension Session.Configuration {
    /// Makes a configuration whose requests go to a mock, and never to the network.
    ///
    /// - Parameters:
    ///   - customTransport: the mock.
    ///   - agent: retains the running requests; ``RequestAgent/shared`` by default.
    ///   - deliveryQueue: the queue of callbacks that belong to no actor; nil, the default, for a private serial one.
    public init(customTransport: MockTransport, agent: RequestAgent = .shared, deliveryQueue: DispatchQueue? = nil) {
        let transport: any Transport = customTransport
        self.init(customTransport: transport, agent: agent, deliveryQueue: deliveryQueue)
    }
}
