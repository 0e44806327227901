public import FoundationEssentials
public import HTTPTypes
public import ScopedNet

/// What a ``MockTransport`` answers: a value.
public struct MockReply: Sendable {
    /// The status of the response.
    public var status: Int
    /// The fields of the response.
    public var headers: HTTPFields
    /// The body as it would come over the wire: one in a content coding is decoded by the library. A value given to ``json(_:status:)-1qcnp`` is
    /// read here as the standard coding writes it, and sent as the coding of the session does.
    public var body: Data {
        get { document.map(Self.bytes) ?? bytes }
        set { (bytes, document) = (newValue, nil) }
    }
    private var bytes: Data
    /// A value that waits for the JSON coding of a session.
    private var document: RequestBody?
    /// How many bytes come at a time; nil brings all at once.
    public var pieceBytes: Int?
    /// The time before the reply begins, on the clock of the session (a ``ManualClock``, where it has one). Default: none.
    public var delay = Duration.zero
    /// Ends the transfer with this error: before the head, or after the body where ``failsAfterBody``.
    public var failure: NetworkError.Code?
    /// The head and the body come before ``failure``.
    public var failsAfterBody = false

    /// Makes a reply of its parts.
    public init(
        status: Int = 200, headers: HTTPFields = [:], body: Data = Data(), pieceBytes: Int? = nil, failure: NetworkError.Code? = nil
    ) {
        self.status = status
        self.headers = headers
        bytes = body
        self.pieceBytes = pieceBytes
        self.failure = failure
    }

    /// 200 with a text.
    public static func ok(_ text: String = "") -> MockReply { MockReply(body: Data(text.utf8)) }

    /// A JSON text, as it stands.
    public static func json(_ text: String, status: Int = 200) -> MockReply {
        MockReply(status: status, headers: [.contentType: "application/json"], body: Data(text.utf8))
    }

    /// A value as a JSON document, written by the JSON coding of the session that asks. A value that does not encode fails the request with
    /// `invalidParameters`.
    public static func json(_ value: some Encodable & Sendable, status: Int = 200) -> MockReply { json(.json(value), status) }

    /// A JSON document as written here: `.json(["id": 7, "tags": ["a", "b"]])`.
    public static func json(_ value: JSONValue, status: Int = 200) -> MockReply { json(.json(value), status) }

    /// A JSON document as written here, of variables: `.json(["id": id, "date": date])`.
    @_disfavoredOverload public static func json(_ value: JSONLiteral, status: Int = 200) -> MockReply { json(.json(value), status) }

    private static func json(_ document: RequestBody, _ status: Int) -> MockReply {
        var reply = MockReply(status: status, headers: [.contentType: "application/json"])
        reply.document = document
        return reply
    }

    /// A status, and a text with it.
    public static func status(_ status: Int, _ text: String = "") -> MockReply { MockReply(status: status, body: Data(text.utf8)) }

    /// A redirect to another URL; 302 by default.
    public static func redirect(to location: String, status: Int = 302) -> MockReply {
        MockReply(status: status, headers: [.location: location])
    }

    /// No response: the transfer fails, as with `.connectionRefused` or `.firstByteTimeout`.
    public static func failing(_ code: NetworkError.Code) -> MockReply { MockReply(failure: code) }

    /// The body comes, and then the connection breaks.
    public func thenFailing(_ code: NetworkError.Code = .connectionLost) -> MockReply {
        var copy = self
        copy.failure = code
        copy.failsAfterBody = true
        return copy
    }

    /// The body comes in pieces.
    public func inPieces(of bytes: Int) -> MockReply {
        var copy = self
        copy.pieceBytes = max(1, bytes)
        return copy
    }

    /// The same with a field; it replaces one of that name.
    public func header(_ name: HTTPField.Name, _ value: String) -> MockReply {
        var copy = self
        copy.headers[name] = value
        return copy
    }

    /// The same with a `Retry-After` of so many seconds.
    public func retryAfter(_ seconds: Int) -> MockReply { header(.retryAfter, "\(seconds)") }

    /// The same after a wait, on the clock of the session. Cancelling the request ends the wait. The timeouts of a request are the transport's own,
    /// and this transport has none: let one run out by `.failing(.firstByteTimeout)`.
    public func after(_ delay: Duration) -> MockReply {
        var copy = self
        copy.delay = delay
        return copy
    }

    /// The body of a session with this coding.
    func body(by coding: JSONCoding) -> Result<Data, NetworkError> {
        guard let written = document?.resolved(with: coding) else { return .success(bytes) }
        return written.failure.map { .failure($0) } ?? .success(Self.bytes(written))
    }

    private static func bytes(_ document: RequestBody) -> Data {
        if case .data(let data) = document.content { data } else { Data() }
    }

    func pieces(of body: Data) -> [Data] {
        guard let pieceBytes, !body.isEmpty else { return body.isEmpty ? [] : [body] }
        return stride(from: 0, to: body.count, by: pieceBytes).map { start in
            Data(body.dropFirst(start).prefix(pieceBytes))
        }
    }
}
