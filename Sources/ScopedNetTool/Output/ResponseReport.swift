import FoundationEssentials
import ScopedNet

/// What `get --json` and `download --json` print: one object, for a response or for an error.
struct ResponseReport: Encodable, Sendable {
    struct Field: Encodable, Sendable {
        let name: String
        let value: String
    }

    struct Timing: Encodable, Sendable {
        let nameLookup: Double
        let connect: Double
        let secured: Double
        let firstByte: Double
        let total: Double
    }

    struct Failure: Encodable, Sendable {
        let code: String
        let phase: String
        let attempt: Int
        let message: String
        let advice: String?
    }

    var url: String
    var status: Int?
    var version: String?
    /// An array: names may repeat, and their order says something.
    var headers: [Field]?
    /// Wire bytes of the body.
    var bytes: Int64?
    /// Seconds since the last attempt began.
    var seconds: Timing?
    /// The body as text, content codings undone; absent where it is not UTF-8, see `base64`.
    var body: String?
    var base64: String?
    var file: String?
    var error: Failure?

    init(url: String) { self.url = url }

    init(url: String, error: NetworkError, _ proof: Advice.Proof) {
        self.url = url
        if let head = error.response { add(head) }
        add(error, proof)
    }

    mutating func add(_ error: NetworkError, _ proof: Advice.Proof) {
        self.error = Failure(
            code: error.code.description, phase: error.phase.rawValue, attempt: error.attempt, message: error.message,
            advice: Advice.about(error, proof))
    }

    mutating func add(_ head: ResponseHead) {
        status = head.status
        version = head.version
        headers = head.headers.map { Field(name: $0.name.rawName, value: $0.value) }
    }

    mutating func add(_ metrics: TransferMetrics) {
        bytes = metrics.bodyBytesReceived
        seconds = Timing(
            nameLookup: metrics.nameLookup / .seconds(1), connect: metrics.connect / .seconds(1), secured: metrics.secured / .seconds(1),
            firstByte: metrics.firstByte / .seconds(1), total: metrics.total / .seconds(1))
    }

    mutating func add(body data: Data) {
        if let text = String(validating: data, as: UTF8.self) { body = text } else { base64 = data.base64EncodedString() }
    }
}
