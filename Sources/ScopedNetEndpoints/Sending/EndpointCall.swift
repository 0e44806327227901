public import ScopedNet

/// One call of an endpoint, with closures that get the service's error. Made by ``APIClient/call(_:fileID:line:)``.
///
/// Closures arm the next start, run where they were written, and are destroyed when that run ends, as those of `Request`.
public struct EndpointCall<Service: APIService, E: Endpoint>: Sendable {
    let service: Service
    /// The endpoint that is called.
    public let endpoint: E
    /// The request behind it, for all else that requests can do.
    public let request: Request<E.Value>
    private var spans = AccessorySpans()

    init(service: Service, endpoint: E, request: Request<E.Value>, accessories: [Accessory]) {
        (self.service, self.endpoint, self.request) = (service, endpoint, request)
        for accessory in accessories { add(accessory) }
    }

    /// The value came.
    public var onSuccess: CallbackRegistration<Self, E.Value> { CallbackRegistration(self) { [request] in _ = request.onSuccess($0) } }

    /// It failed; not after a cancel.
    public var onFailure: CallbackRegistration<Self, Service.Failure> {
        CallbackRegistration(self) { [service, endpoint, request] callback in
            _ = request.onFailure(callback.map { service.failure(of: endpoint, $0) })
        }
    }

    /// Both in one closure.
    public var onResult: CallbackRegistration<Self, Result<E.Value, Service.Failure>> {
        CallbackRegistration(self) { [service, endpoint, request] callback in
            _ = request.onResult(callback.map { result in result.mapError { service.failure(of: endpoint, $0) } })
        }
    }

    /// The end, whatever it is.
    public var onEnd: CallbackRegistration<Self, EndReason> { CallbackRegistration(self) { [request] in _ = request.onEnd($0) } }

    /// Adds an accessory to the next start, and to that alone. It hears that the call stops before the closures that are registered behind this.
    public func accessory(_ accessory: Accessory) -> Self {
        var call = self
        call.add(accessory)
        return call
    }

    private mutating func add(_ accessory: Accessory) {
        let span = spans.add(accessory)
        _ = request.onResult(span.willStop(Result<E.Value, NetworkError>.self)).onEnd { [end = spans.end] _ in end?.reach() }
    }

    /// Starts a run that belongs to nobody.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let hasBegun = spans.begin(in: nil, of: request.session, fileID: fileID, line: line)
        return settled(hasBegun, request.start(fileID: fileID, line: line))
    }

    /// Starts a run that ends with `bag`.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let hasBegun = spans.begin(in: bag, of: request.session, fileID: fileID, line: line)
        return settled(hasBegun, request.start(in: bag, fileID: fileID, line: line))
    }

    /// Of a start that was refused nothing is called, and no closure says that it is over.
    private func settled(_ hasBegun: Bool, _ run: Run) -> Run {
        if hasBegun, run.wasRefused { spans.end?.reach() }
        return run
    }
}
