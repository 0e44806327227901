public import FoundationEssentials
public import HTTPTypes
public import ScopedNet

/// What a ``MockTransport`` answers: a value.
public struct MockReply: Sendable {
    /// The status of the response.
    public var status: Int
    /// The fields of the response.
    public var headers: HTTPFields
    /// As it would come over the wire: a body in a content coding is decoded by the library.
    public var body: Data
    /// How many bytes come at a time; nil brings all at once.
    public var pieceBytes: Int?
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
        self.body = body
        self.pieceBytes = pieceBytes
        self.failure = failure
    }

    /// 200 with a text.
    public static func ok(_ text: String = "") -> MockReply { MockReply(body: Data(text.utf8)) }

    /// 200 with a JSON text.
    public static func json(_ text: String) -> MockReply { MockReply(headers: [.contentType: "application/json"], body: Data(text.utf8)) }

    /// A status, and a text with it.
    public static func status(_ status: Int, _ text: String = "") -> MockReply { MockReply(status: status, body: Data(text.utf8)) }

    /// A redirect to another URL; 302 by default.
    public static func redirect(to location: String, status: Int = 302) -> MockReply {
        MockReply(status: status, headers: [.location: location])
    }

    /// No response: the transfer fails, as with `.connectionRefused`.
    public static func failure(_ code: NetworkError.Code) -> MockReply { MockReply(failure: code) }

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

    var pieces: [Data] {
        guard let pieceBytes, !body.isEmpty else { return body.isEmpty ? [] : [body] }
        return stride(from: 0, to: body.count, by: pieceBytes).map { start in
            Data(body.dropFirst(start).prefix(pieceBytes))
        }
    }
}
