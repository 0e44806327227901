import HTTPTypes
import ScopedNet

/// The origin server of a scenario: answers by the script and keeps a record.
///
/// It believes a request's mark. For an exchange that is to be validated it sends 304 if the condition holds of what it sent, or
/// would have sent, in the exchange before, and otherwise the status 999, which nothing else has.
///
/// A server on a wire has to send a response as it is, field by field: with a `Connection` that names end-to-end fields, a
/// `Transfer-Encoding` that nobody knows, two lines of `Expires`.
struct ScenarioOrigin: Sendable {
    /// A request that arrived, and what became of it.
    struct Visit: Sendable {
        /// The exchange that the request is marked with.
        var exchange: Int
        var method: String
        var fields: HTTPFields
        /// nil: the connection was closed.
        var response: ScenarioResponse?
    }

    let scenario: CacheScenario
    private(set) var visits: [Visit] = []
    /// The fields of the answers, as they were sent, by exchange.
    private var sentFields: [Int: HTTPFields] = [:]

    init(_ scenario: CacheScenario) {
        self.scenario = scenario
    }

    /// How long the answer to a request takes, in seconds.
    func delay(of fields: HTTPFields) -> Int {
        exchange(of: fields).map { $0.script.answer.delay } ?? 0
    }

    /// Answers a request; nil closes the connection. `now` is the origin's clock, seconds since 1970.
    mutating func answer(method: String, fields: HTTPFields, now: Int64) -> ScenarioResponse? {
        guard let (number, script) = exchange(of: fields) else {
            return ScenarioResponse(status: 400, fields: [:], body: "no mark, or one of no exchange")
        }
        let response = script.answer.isMissing ? nil : makeResponse(to: fields, method: method, number, script, now: now)
        visits.append(Visit(exchange: number, method: method, fields: fields, response: response))
        return response
    }

    private func exchange(of fields: HTTPFields) -> (number: Int, script: CacheScenario.Exchange)? {
        guard let number = fields[text: ScenarioMark.exchange].flatMap(Int.init), scenario.exchanges.indices.contains(number - 1)
        else { return nil }
        return (number, scenario.exchanges[number - 1])
    }

    private mutating func makeResponse(
        to requestFields: HTTPFields, method: String, _ number: Int, _ script: CacheScenario.Exchange, now: Int64
    ) -> ScenarioResponse {
        var fields = script.answer.fields.resolved(now: now, path: scenario.path)
        let validators =
            sentFields[number - 1]
            ?? (number > 1 ? scenario.exchanges[number - 2].answer.fields.resolved(now: now, path: scenario.path) : [:])
        sentFields[number] = fields
        var status = script.answer.status
        if case .validated = script.expectation.source {
            status = Self.holds(requestFields, validators) ? 304 : 999
        }
        var body = script.answer.body ?? scenario.standardBody
        if status == 204 || status == 304 { body = "" }
        complete(&fields, status: status, method: method, body: &body, now: now)
        fields.append(line: ScenarioMark.exchange, String(number))
        fields.append(line: ScenarioMark.time, String(now))
        let interim = script.answer.interim.map { interim in
            ScenarioResponse.Head(status: interim.status, fields: interim.fields.resolved(now: now, path: scenario.path))
        }
        return ScenarioResponse(status: status, fields: fields, body: body, interim: interim)
    }

    /// Adds what every server sends, and does what a Content-Length of the script does on a wire: what is beyond it is not the body.
    private func complete(_ fields: inout HTTPFields, status: Int, method: String, body: inout String, now: Int64) {
        if !fields.contains(.date) { fields[.date] = HTTPDate(secondsSince1970: now).description }
        if !fields.contains(.contentType) { fields[.contentType] = "text/plain" }
        if let length = fields[.contentLength].flatMap(Int.init) {
            body = String(body.prefix(length))
        } else if status != 204, status != 304, method != "HEAD", !fields.contains(.transferEncoding) {
            fields[.contentLength] = String(body.utf8.count)
        }
        if method == "HEAD" { body = "" }
    }

    /// RFC 9110 section 13.2.2: an entity tag decides, and the date only where there is none.
    private static func holds(_ request: HTTPFields, _ sent: HTTPFields) -> Bool {
        if let tags = request[.ifNoneMatch] {
            guard let tag = sent[.eTag] else { return false }
            return tags == tag || tags.split(separator: ", ").contains { $0 == tag }
        }
        guard let date = request[.ifModifiedSince] else { return false }
        return date == sent[.lastModified]
    }
}

extension HTTPFields {
    fileprivate mutating func append(line name: String, _ value: String) {
        if let name = HTTPField.Name(name) { append(HTTPField(name: name, value: value)) }
    }
}
