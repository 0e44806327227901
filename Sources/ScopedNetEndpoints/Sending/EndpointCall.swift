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
    private let spans: NextSpans<E.Value>

    init(service: Service, endpoint: E, request: Request<E.Value>, accessories: [Accessory]) {
        (self.service, self.endpoint, self.request) = (service, endpoint, request)
        spans = NextSpans(accessories, of: request)
    }

    /// The value came.
    public var onSuccess: CallbackRegistration<Self, E.Value> {
        CallbackRegistration(self) { [request = armed] in _ = request.onSuccess($0) }
    }

    /// It failed; not after a cancel.
    public var onFailure: CallbackRegistration<Self, Service.Failure> {
        CallbackRegistration(self) { [service, endpoint, request = armed] callback in
            _ = request.onFailure(callback.map { service.failure(of: endpoint, $0) })
        }
    }

    /// Both in one closure.
    public var onResult: CallbackRegistration<Self, Result<E.Value, Service.Failure>> {
        CallbackRegistration(self) { [service, endpoint, request = armed] callback in
            _ = request.onResult(callback.map { result in result.mapError { service.failure(of: endpoint, $0) } })
        }
    }

    /// The end, whatever it is.
    public var onEnd: CallbackRegistration<Self, EndReason> { CallbackRegistration(self) { [request = armed] in _ = request.onEnd($0) } }

    /// Adds an accessory to the next start, and to that alone. It hears that the call stops before the closures that are registered behind this.
    public func accessory(_ accessory: Accessory) -> Self {
        spans.add(accessory)
        return self
    }

    /// The request with the service's accessories before all closures of the next start.
    private var armed: Request<E.Value> {
        spans.arm()
        return request
    }

    /// Starts a run that belongs to nobody.
    @discardableResult
    public func start(fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let spans = spans.take()
        spans?.begin(in: nil, of: request.session, fileID: fileID, line: line)
        return settled(spans, request.start(fileID: fileID, line: line))
    }

    /// Starts a run that ends with `bag`.
    @discardableResult
    public func start(in bag: DeallocBag, fileID: StaticString = #fileID, line: Int = #line) -> Run {
        let spans = spans.take()
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
private final class NextSpans<Value: Sendable>: Sendable {
    private let accessories: [Accessory]
    private let request: Request<Value>
    private let next = Lock<AccessorySpans?>(nil)

    init(_ accessories: [Accessory], of request: Request<Value>) { (self.accessories, self.request) = (accessories, request) }

    /// Registers those of the service, unless that was done since the last start. A call without any costs nothing.
    func arm() {
        guard !accessories.isEmpty, begin() else { return }
        for accessory in accessories { register(accessory) }
    }

    func add(_ accessory: Accessory) {
        arm()
        _ = begin()
        register(accessory)
    }

    /// Takes those of a start that is being made.
    func take() -> AccessorySpans? {
        arm()
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

    private func register(_ accessory: Accessory) {
        let span = AccessorySpan(accessory)
        let end = next.withLock { next in
            next?.add(span)
            return next?.end
        }
        _ = request.onResult(span.willStop(Result<Value, NetworkError>.self)).onEnd { [end] _ in end?.reach() }
    }
}
