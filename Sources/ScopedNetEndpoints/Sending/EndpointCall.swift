public import ScopedNet

/// One call of an endpoint, with closures that get the service's error. Made by ``APIClient/call(_:fileID:line:)``.
///
/// Closures arm the next start, run where they were written, and are destroyed when that run ends, as those of `Request`.
public struct EndpointCall<Service: APIService, E: Endpoint>: Sendable {
    @usableFromInline let service: Service
    /// The endpoint that is called.
    public let endpoint: E
    /// The request behind it, for all else that requests can do.
    public let request: Request<E.Value>
    /// Nil for a call without accessories: it costs nothing.
    @usableFromInline let spans: NextSpans?

    init(service: Service, endpoint: E, request: Request<E.Value>, accessories: [Accessory]) {
        (self.service, self.endpoint, self.request) = (service, endpoint, request)
        spans = accessories.isEmpty ? nil : NextSpans(accessories)
    }

    private init(_ call: Self, _ spans: NextSpans) {
        (service, endpoint, request, self.spans) = (call.service, call.endpoint, call.request, spans)
    }

    /// The value came.
    @inlinable public var onSuccess: CallbackRegistration<Self, E.Value> { CallbackRegistration(self, armed.onSuccess) }

    /// It failed; not after a cancel.
    @inlinable public var onFailure: CallbackRegistration<Self, Service.Failure> {
        CallbackRegistration(self, armed.onFailure.map { [service, endpoint] in service.failure(of: endpoint, $0) })
    }

    /// Both in one closure.
    @inlinable public var onResult: CallbackRegistration<Self, Result<E.Value, Service.Failure>> {
        CallbackRegistration(
            self, armed.onResult.map { [service, endpoint] result in result.mapError { service.failure(of: endpoint, $0) } })
    }

    /// The end, whatever it is.
    @inlinable public var onEnd: CallbackRegistration<Self, EndReason> { CallbackRegistration(self, armed.onEnd) }

    /// Returns the call with an accessory for its next start, and for that alone. It hears that the call stops before the closures that are registered behind this.
    public func accessory(_ accessory: Accessory) -> Self {
        let spans = spans ?? NextSpans([])
        spans.add(accessory, to: request)
        return Self(self, spans)
    }

    /// The request with the service's accessories before all closures of the next start.
    @usableFromInline var armed: Request<E.Value> {
        spans?.arm(request)
        return request
    }

    /// Starts a run that belongs to nobody.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let spans = spans?.take(of: request)
        spans?.begin(in: nil, of: request.session, fileID: fileID, line: line)
        return settled(spans, request.start(fileID: fileID, line: line))
    }

    /// Starts a run that ends with `bag`.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let spans = spans?.take(of: request)
        spans?.begin(in: bag, of: request.session, fileID: fileID, line: line)
        return settled(spans, request.start(in: bag, fileID: fileID, line: line))
    }

    /// Of a start that was refused nothing is called, and no closure says that it is over.
    private func settled(_ spans: AccessorySpans?, _ run: Run) -> Run {
        if run.wasRefused { spans?.end?.reach() }
        return run
    }
}

/// The accessories of the next start of a call: those of the service, and those that are added to it alone.
@usableFromInline final class NextSpans: Sendable {
    private let accessories: [Accessory]
    private let next = Lock<AccessorySpans?>(nil)

    init(_ accessories: [Accessory]) { self.accessories = accessories }

    /// Registers those of the service, unless that was done since the last start.
    func arm<Value>(_ request: Request<Value>) {
        guard !accessories.isEmpty, begin() else { return }
        for accessory in accessories { register(accessory, for: request) }
    }

    func add<Value>(_ accessory: Accessory, to request: Request<Value>) {
        arm(request)
        _ = begin()
        register(accessory, for: request)
    }

    /// Takes those of a start that is being made.
    func take<Value>(of request: Request<Value>) -> AccessorySpans? {
        arm(request)
        return next.withLock { next in
            defer { next = nil }
            return next
        }
    }

    /// - Returns: true where there were none.
    private func begin() -> Bool {
        let fresh = AccessorySpans()
        return next.withLock { next in
            if next != nil { return false }
            next = fresh
            return true
        }
    }

    private func register<Value>(_ accessory: Accessory, for request: Request<Value>) {
        let span = AccessorySpan(accessory)
        let end = next.withLock { next in
            next?.add(span)
            return next?.end
        }
        _ = request.onResult(span.willStop(Result<Value, NetworkError>.self)).onEnd { [end] _ in end?.reach() }
    }
}
