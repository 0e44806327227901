public import ScopedNet

/// Sends the endpoints of a service. Any thread may use it; keep one for each service.
public final class APIClient<Service: APIService>: Sendable {
    /// The service whose endpoints are sent.
    public let service: Service
    /// The session that sends them. Its base URL does not matter.
    public let session: Session
    /// Sessions that differ in their base URL: a service has one, or two with a CDN, in each environment.
    private let derived = Lock<[(base: String, session: Session)]>([])
    let parts = ClientParts()

    /// Makes a client.
    public init(_ service: Service, session: Session) {
        self.service = service
        self.session = session
    }

    /// Sends an endpoint and awaits its value.
    ///
    /// - Parameters:
    ///   - endpoint: the call.
    ///   - bag: ends it, too. Default: the bag of the task that this is called in, if there is one.
    ///   - accessories: told of this call, besides those of the service.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the value.
    /// - Throws: the service's error. Cancelling the task cancels the request.
    public func send<E: Endpoint>(
        _ endpoint: E, in bag: DeallocBag? = nil, accessories: [Accessory] = [], fileID: StaticString = #fileID, line: Int = #line
    ) async throws(Service.Failure) -> E.Value {
        try await response(to: endpoint, in: bag, accessories: accessories, fileID: fileID, line: line).value
    }

    /// Sends an endpoint and awaits its value with status, fields, source and times; else as ``send(_:in:accessories:fileID:line:)``.
    public func response<E: Endpoint>(
        to endpoint: E, in bag: DeallocBag? = nil, accessories: [Accessory] = [], fileID: StaticString = #fileID, line: Int = #line
    ) async throws(Service.Failure) -> Response<E.Value> {
        do throws(CallFailure<Service.Failure>) {
            return try await reply(to: endpoint, in: bag, accessories: accessories, fileID: fileID, line: line)
        } catch { throw error.error }
    }

    /// Sends an endpoint, and reads the body of its response as it arrives: returns when the head is there. For lines, events and what has no end.
    ///
    /// ```swift
    /// for try await line in try await client.stream(NewStories(), in: bag).lines { show(line) }
    /// ```
    ///
    /// Its value is not made, and accessories do not hear of it. Leaving the loop, ending `bag` or cancelling the task stops the transfer.
    ///
    /// - Parameters:
    ///   - endpoint: the call.
    ///   - bag: ends the stream, too. Default: the bag of the task that this is called in, if there is one.
    ///   - window: the bytes that may wait for the reader before the connection is paused. Default: 256 KiB.
    ///   - fileID: the file of the call, which leak tests name, with `line`.
    ///   - line: the line of the call.
    /// - Returns: the head, and the body to come.
    /// - Throws: the service's error where no head came. What the body throws is a `NetworkError`.
    public func stream<E: Endpoint>(
        _ endpoint: E, in bag: DeallocBag? = nil, window: Int = 256 << 10, fileID: StaticString = #fileID, line: Int = #line
    ) async throws(Service.Failure) -> StreamedResponse {
        let request = request(endpoint, fileID: fileID, line: line)
        do throws(NetworkError) {
            return try await StreamedResponse(of: request, in: bag, window: window, fileID: fileID, line: line)
        } catch { throw service.failure(of: endpoint, error) }
    }

    /// Sends an endpoint, and says of a failure whether it was a cancel. `link` is a URL that the server has named, in place of path and query.
    func reply<E: Endpoint>(
        to endpoint: E, link: String? = nil, in bag: DeallocBag?, accessories: [Accessory] = [], fileID: StaticString = #fileID,
        line: Int = #line
    ) async throws(CallFailure<Service.Failure>) -> Response<E.Value> {
        let spans = AccessorySpans(service.allAccessories + accessories)
        let scope = bag == nil && !spans.isEmpty ? DeallocBag.childOfTask(fileID: fileID, line: line) : nil
        spans.begin(in: bag ?? scope, of: session, fileID: fileID, line: line)
        defer { withExtendedLifetime(scope) { spans.end?.reach() } }
        do throws(CallFailure<Service.Failure>) {
            let response = try await member(endpoint, link: link, in: bag, fileID: fileID, line: line)
            spans.stop()
            return response
        } catch {
            if !error.isCancelled { spans.stop() }
            throw error
        }
    }

    /// Sends an endpoint that is part of something greater, of which accessories hear as a whole.
    func member<E: Endpoint>(
        _ endpoint: E, link: String? = nil, in bag: DeallocBag?, fileID: StaticString, line: Int
    ) async throws(CallFailure<Service.Failure>) -> Response<E.Value> {
        let request = request(endpoint, link: link, fileID: fileID, line: line)
        do throws(NetworkError) { return try await request.response(in: bag, fileID: fileID, line: line) } catch {
            throw CallFailure(error: service.failure(of: endpoint, error), isCancelled: error.isCancelled)
        }
    }

    /// Makes a call of an endpoint, for closures that get the service's error.
    ///
    /// ```swift
    /// client.call(SearchStories(text: text))
    ///     .onSuccess(for: self) { model, stories in model.stories = stories }
    ///     .onFailure(for: self) { model, error in model.problem = error }
    ///     .start(in: bag)
    /// ```
    public func call<E: Endpoint>(_ endpoint: E, fileID: StaticString = #fileID, line: Int = #line) -> EndpointCall<Service, E> {
        EndpointCall(
            service: service, endpoint: endpoint, request: request(endpoint, fileID: fileID, line: line),
            accessories: service.allAccessories)
    }

    /// Makes the request of an endpoint, with all that requests can do: delegates, progress, hooks, owners.
    ///
    /// A value that does not encode and a refusal of ``APIService/adapt(_:)`` are failures of its runs, of which the service's interceptors do not hear.
    /// Closures and delegate get `NetworkError`, also where the service has errors of its own.
    public func request<E: Endpoint>(_ endpoint: E, fileID: StaticString = #fileID, line: Int = #line) -> Request<E.Value> {
        request(endpoint, link: nil, fileID: fileID, line: line)
    }

    /// With a URL that a server has sent in place of the path and the query.
    func request<E: Endpoint>(_ endpoint: E, link: String?, fileID: StaticString, line: Int) -> Request<E.Value> {
        let services = service.lineage
        var call = APICall(endpoint, services)
        do {
            try endpoint.validate()
            (call.query, call.body) = try endpoint.content.parameters()
            if let link { (call.path, call.query) = (link, [:]) }
            for service in services { try service.adapt(&call) }
            if let link { call.removeQuery(of: link) }
        } catch {
            // Without its fields and its query, which may be wrong as well: it is refused for this alone.
            (call.query, call.headers, call.body) = ([:], [:], .none)
            let request = make(endpoint, call, in: services, fileID: fileID, line: line)
            return request.refused(with: error as? NetworkError ?? .refused(error))
        }
        let request = make(endpoint, call, in: services, fileID: fileID, line: line)
        let interceptors = services.count == 1 ? services[0].interceptors : services.flatMap { $0.interceptors }
        return interceptors.isEmpty ? request : request.interceptors(call: interceptors)
    }

    private func make<E: Endpoint>(
        _ endpoint: E, _ call: APICall, in services: [any APIService], fileID: StaticString, line: Int
    ) -> Request<E.Value> {
        let session = session(Self.base(of: services, usesCDN: endpoint.usesCDN))
        return make(endpoint, call, session, fileID: fileID, line: line).options { options in
            for service in services { service.configure(&options) }
            endpoint.configure(&options)
            options.userInfo[APICall.endpointKey] = endpoint
        }
    }

    private func make<E: Endpoint>(
        _ endpoint: E, _ call: APICall, _ session: Session, fileID: StaticString, line: Int
    ) -> Request<E.Value> {
        endpoint.destination.request(for: call, of: session, fileID: fileID, line: line)
            ?? session.request(
                call.path, method: call.method, query: call.query, headers: call.headers, body: call.requestBody, decoder: endpoint.decoder,
                fileID: fileID, line: line)
    }

    /// The innermost one that has any.
    private static func base(of services: [any APIService], usesCDN: Bool) -> String {
        if usesCDN, let cdn = services.reversed().lazy.compactMap(\.cdnURL).first { return cdn }
        return services.reversed().lazy.map(\.baseURL).first { !$0.isEmpty } ?? ""
    }

    private func session(_ base: String) -> Session {
        // One or two, most of the time: looking costs less than hashing.
        if let known = derived.withLock({ sessions in sessions.first { $0.base == base }?.session }) { return known }
        // Outside the lock: it may say that the base lacks its slash.
        let fresh = session.with { $0.baseURL = base.isEmpty ? nil : base.hasSuffix("/") ? base : base + "/" }
        let (kept, old) = derived.withLock { sessions -> (Session, [(base: String, session: Session)]) in
            if let other = sessions.first(where: { $0.base == base }) { return (other.session, []) }
            // A base that has somebody's name in it would let them grow without end. Runs keep theirs.
            let old = sessions.count >= 16 ? sessions : []
            if !old.isEmpty { sessions = [] }
            sessions.append((base, fresh))
            return (fresh, old)
        }
        _ = old
        return kept
    }
}

extension APIService {
    /// The service's error for one of the library.
    @usableFromInline func failure<E: Endpoint>(of endpoint: E, _ error: NetworkError) -> Failure {
        failure(error, document: error.response == nil ? nil : error.decoded(as: E.Failure.self), of: endpoint)
    }
}

extension APICall {
    init(_ endpoint: some Endpoint, _ services: [any APIService]) {
        type = Swift.type(of: endpoint)
        path = endpoint.path
        method = endpoint.method
        query = [:]
        headers = [:]
        for service in services { headers.merge(service.headers) }
        headers.merge(endpoint.headers)
        body = .none
    }

    var requestBody: RequestBody? {
        switch body {
        case .none: nil
        case .form(let parameters): .form(parameters)
        case .whole(let body): body
        }
    }
}
